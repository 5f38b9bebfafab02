"""From a resource as the API server gives it to a `KRaftCluster`, or `InvalidSpec` with the path.

Repeats what the CRD's rules say (the rules may be older than this operator, or ratcheted around) except the transition
rules, which need the old object: those the operator checks against its ledger. `check` is about several fields at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from controller_runtime.identifiers import Uuid
from kraft_operator.api import names
from kraft_operator.api.combined import Role, check_combined
from kraft_operator.api.config_keys import owner_of
from kraft_operator.api.ephemeral_checks import check_ephemeral
from kraft_operator.api.from_archive import parse_from_archive
from kraft_operator.api.metadata_versions import level_of
from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.parse_archive import parse_archive
from kraft_operator.api.parse_network import (
    RESERVED_PORTS,
    check_exposed_names,
    check_listeners,
    network_policy,
    parse_listeners,
)
from kraft_operator.api.parse_pod import check_pod, parse_pod
from kraft_operator.api.parse_process import check_process, parse_process
from kraft_operator.api.parse_security import (
    UNLESS_IT_SAYS,
    asked_mode,
    check_security,
    formed_by,
    secured,
    security_of,
)
from kraft_operator.api.parse_storage import check_volumes, parse_overrides, parse_storage, parse_volumes
from kraft_operator.api.reader import InvalidSpec, Reader, duration
from kraft_operator.api.roles import BROKER, Roles
from kraft_operator.api.spec import (
    BootstrapPolicy,
    ChangeMode,
    ClusterSpec,
    Config,
    DomainPolicy,
    Drain,
    FailureDomains,
    Group,
    Image,
    KRaftCluster,
    LifecycleState,
    LostDisk,
    MetadataVersionPolicy,
    NodeGone,
    NodeIdRange,
    OnBadRevision,
    Probes,
    PullPolicy,
    QuorumFeature,
    QuorumLoss,
    RecoveryPolicy,
    Rollout,
    RolloutStrategy,
    ScaleDown,
    Versions,
    VolumePolicy,
)
from kraft_operator.api.stages import Formed
from kraft_operator.api.windows import parse_windows

CONTROLLER_COUNTS: Final = (1, 3, 5, 7)
MAX_POOLS: Final = 16
MAX_BROKERS: Final = 500
"""With texts as long as they may be, and each replaced once, a ledger of so many has 0.8 MB of the 1 MiB that a
ConfigMap holds.
"""
MAX_POOL_REPLICAS: Final = 1000
MAX_EXCLUDED: Final = 100
_CLUSTER_NAME: Final = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_POOL_NAME: Final = re.compile(r"^[a-z][a-z0-9]{0,9}$")
_DIGEST: Final = re.compile(r"^sha256:[0-9a-f]{64}$")
_PROPERTY_KEY: Final = re.compile(r"^[A-Za-z0-9._-]{1,253}$")


def parse_cluster(resource: Mapping[str, Any]) -> KRaftCluster:
    """As a cluster would be formed of it. Raises InvalidSpec for the first thing that is wrong."""
    cluster = read_cluster(resource)
    if cluster.doubt[0]:
        raise InvalidSpec(*cluster.doubt)
    return cluster


def read_cluster(resource: Mapping[str, Any]) -> KRaftCluster:
    """The same, for whoever will ask the ledger what the cluster is (`formed.formed_with`)."""
    metadata = Reader("", resource).child("metadata")
    name = metadata.text("name")
    if len(name) > names.MAX_CLUSTER_NAME_LENGTH:
        raise InvalidSpec("metadata.name", f"must be at most {names.MAX_CLUSTER_NAME_LENGTH} characters")
    if not _CLUSTER_NAME.match(name):
        raise InvalidSpec("metadata.name", "must begin with a letter and consist of a-z, 0-9 and '-'")
    source = Reader("", resource).child("spec")
    found = formed_by(asked_mode(source))
    spec, doubt = _as_formed(source, found)
    check_exposed_names(name, spec)
    return KRaftCluster(
        namespace=metadata.text("namespace"),
        name=name,
        uid=metadata.text("uid", ""),
        generation=metadata.number("generation", 0),
        spec=spec,
        restart=metadata.texts("annotations").get(names.ANNOTATION_RESTART, ""),
        approve=metadata.texts("annotations").get(names.ANNOTATION_APPROVE, ""),
        given_up_claims=_claims(metadata.texts("annotations").get(names.ANNOTATION_GIVE_UP, "")),
        approved_formats=_claims(metadata.texts("annotations").get(names.ANNOTATION_FORMAT, "")),
        rotate=metadata.texts("annotations").get(names.ANNOTATION_ROTATE, ""),
        formed=found.text,
        doubt=doubt,
        source=source.values,
    )


def _as_formed(source: Reader, found: Formed) -> tuple[ClusterSpec, tuple[str, str]]:
    """As of a cluster that is formed now, and what is wrong then. Where that cannot be read at all it may be one that
    the ledger knows as a plaintext one.
    """
    try:
        spec = _read(source, found)
        path, problem = next(_of_security(source, spec), ("", ""))
    except InvalidSpec as error:
        if not found.stage:
            raise
        spec, path, problem = _read(source, Formed()), error.path, error.problem
    unasked = bool(path) and asked_mode(source) is None
    return spec, (path, f"{problem} ({UNLESS_IT_SAYS})" if unasked else problem)


def _claims(text: str) -> frozenset[str]:
    return frozenset(each.strip() for each in text.split(",") if each.strip())


def parse_spec(spec: Reader, found: Formed | None = None) -> ClusterSpec:
    """Of a cluster that the ledger says this of; without it, of one that is formed now."""
    parsed = _read(spec, formed_by(asked_mode(spec)) if found is None else found)
    for path, problem in _of_security(spec, parsed):
        raise InvalidSpec(path, problem)
    return parsed


def _read(spec: Reader, found: Formed) -> ClusterSpec:
    endpoints = spec.child("endpoints")
    parsed = ClusterSpec(
        image=_image(spec.child("image")),
        controllers=_controllers(spec.child("controllers")),
        broker_pools=tuple(_pool(pool) for pool in spec.items("brokerPools")),
        controller_listeners=parse_listeners(endpoints, "controller", ListenerSpec("CONTROLLER", 9093)),
        broker_listeners=_of_brokers(spec),
        cluster_domain=spec.text("clusterDomain", "cluster.local"),
        cluster_id=_cluster_id(spec),
        config=_config(spec.child("config")),
        bootstrap_policy=spec.child("bootstrap").choice("policy", BootstrapPolicy, BootstrapPolicy.NEW_OR_ADOPT),
        volume_policy=spec.child("deletionPolicy").choice("volumes", VolumePolicy, VolumePolicy.RETAIN),
        lifecycle=spec.child("lifecycle").choice("state", LifecycleState, LifecycleState.RUNNING),
        probes=spec.choice("probes", Probes, Probes.HTTP),
        recovery=_recovery(spec.child("recoveryPolicy")),
        rollout=_rollout(spec.child("rollout")),
        versions=_versions(spec),
        change_mode=spec.child("changePolicy").choice("mode", ChangeMode, ChangeMode.APPLY),
        security=security_of(spec, found),
        network_policy=network_policy(spec.child("networkPolicy")),
        archive=parse_archive(spec),
        from_archive=parse_from_archive(spec),
    )
    parsed = secured(parsed)
    for path, problem in check(parsed):
        raise InvalidSpec(f"{spec.path}.{path}", problem)
    return parsed


def _of_security(source: Reader, spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    for path, problem in check_security(spec, _of_brokers(source)):
        yield f"{source.path}.{path}", problem


def _of_brokers(spec: Reader) -> tuple[ListenerSpec, ...]:
    return parse_listeners(spec.child("endpoints"), "broker", ListenerSpec("PLAINTEXT", 9092))


def check(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    """What is wrong between fields, as (path below spec, problem)."""
    if spec.controllers.replicas not in CONTROLLER_COUNTS:
        yield "controllers.replicas", f"must be 1, 3, 5 or 7, not {spec.controllers.replicas}"
    yield from check_combined(spec)
    if len(spec.broker_pools) > MAX_POOLS:
        yield "brokerPools", f"at most {MAX_POOLS} pools, not {len(spec.broker_pools)}"
    if (brokers := sum(pool.replicas for pool in spec.broker_pools)) > MAX_BROKERS:
        yield (
            "brokerPools",
            f"a cluster has at most {MAX_BROKERS} brokers, not {brokers}: the ledger of all its nodes is one ConfigMap",
        )
    elif (volumes := sum(pool.replicas * (1 + len(pool.volumes)) for pool in spec.broker_pools)) > MAX_BROKERS:
        problem = f"brokers have at most {MAX_BROKERS} volumes together, not {volumes}: their ledger is one ConfigMap"
        yield "brokerPools", problem
    for group in spec.groups:
        path = _path(spec, group)
        yield from _check_ids(path, group)
        for other in spec.groups[spec.groups.index(group) + 1 :]:
            if group.name == other.name:
                yield _path(spec, other), f"a second pool is named {other.name!r}"
            if group.node_id_range.overlaps(other.node_id_range):
                yield f"{_path(spec, other)}.nodeIdRange", f"overlaps that of {group.name}"
    for group in spec.groups:
        taken = _ports_of(spec, group)
        yield from check_process(_path(spec, group), group.process, java=spec.java_in(group), taken=taken)
        added = frozenset(group.process.metrics.ports) if group.process.metrics else frozenset()
        yield from check_pod(f"{_path(spec, group)}.pod", group.pod, taken | added)
        yield from check_volumes(_path(spec, group), group)
    yield from check_ephemeral(spec, lambda group: _path(spec, group))
    yield from check_listeners(spec)


def _check_ids(path: str, group: Group) -> Iterator[tuple[str, str]]:
    size, excluded = len(group.node_id_range), group.excluded_node_ids
    if len(excluded) > MAX_EXCLUDED:
        yield f"{path}.excludedNodeIds", f"at most {MAX_EXCLUDED} ids, not {len(excluded)}"
    if strange := sorted(each for each in excluded if each not in group.node_id_range):
        yield f"{path}.excludedNodeIds", f"{strange[0]} is not in nodeIdRange"
    elif size - len(excluded) < group.replicas:
        without = f" without the {len(excluded)} that are excluded" if excluded else ""
        yield f"{path}.nodeIdRange", f"has {size - len(excluded)} ids for {group.replicas} replicas{without}"


def _path(spec: ClusterSpec, group: Group) -> str:
    return "controllers" if group is spec.controllers else f"brokerPools[{spec.broker_pools.index(group)}]"


def _ports_of(spec: ClusterSpec, group: Group) -> frozenset[int]:
    return frozenset(each.port for each in spec.listeners_of(group.roles)) | RESERVED_PORTS


def _recovery(policy: Reader) -> RecoveryPolicy:
    text = policy.text("debounce", "10s")
    return RecoveryPolicy(
        policy.choice("lostDisk", LostDisk, LostDisk.REPLACE),
        duration(text, policy.at("debounce")),
        policy.choice("nodeGone", NodeGone, NodeGone.WAIT),
        policy.choice("quorumLoss", QuorumLoss, QuorumLoss.MANUAL),
    )


def _versions(spec: Reader) -> Versions:
    found = spec.child("metadataVersion")
    policy = found.choice("policy", MetadataVersionPolicy, MetadataVersionPolicy.PINNED)
    value = found.optional_text("value")
    if value is not None and policy is not MetadataVersionPolicy.PINNED:
        raise InvalidSpec(found.at("value"), "belongs to the policy Pinned")
    try:
        level = level_of(value) if value is not None else None
    except ValueError as error:
        raise InvalidSpec(found.at("value"), str(error)) from error
    return Versions(
        policy,
        level,
        duration(found.text("soak", "1h"), found.at("soak")),
        spec.child("quorumFeature").choice("policy", QuorumFeature, QuorumFeature.PINNED),
    )


def _rollout(rollout: Reader) -> Rollout:
    return Rollout(
        rollout.choice("strategy", RolloutStrategy, RolloutStrategy.QUORUM_AWARE),
        duration(rollout.text("readyTimeout", "5m"), rollout.at("readyTimeout")),
        rollout.choice("onBadRevision", OnBadRevision, OnBadRevision.ROLLBACK),
        parse_windows(rollout),
    )


def _image(image: Reader) -> Image:
    policy = image.choice("pullPolicy", PullPolicy, PullPolicy.IF_NOT_PRESENT)
    secrets = tuple(secret.text("name") for secret in image.items("pullSecrets"))
    reference, repository = image.optional_text("reference"), image.optional_text("repository")
    if (reference is None) == (repository is None):
        raise InvalidSpec(image.path, "exactly one of reference and repository is needed")
    if reference is not None:
        if image.has("tag") or image.has("digest"):
            raise InvalidSpec(image.path, "a reference already holds its tag and digest")
        return Image(reference, policy, secrets)
    tag, digest = image.optional_text("tag"), image.optional_text("digest")
    if tag is None and digest is None:
        raise InvalidSpec(image.path, "a tag or a digest is needed beside the repository")
    if digest is not None and not _DIGEST.match(digest):
        raise InvalidSpec(image.at("digest"), f"{digest!r} is not sha256: and 64 hexadecimal digits")
    return Image(f"{repository}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}", policy, secrets)


def _controllers(controllers: Reader) -> Group:
    if controllers.child("storage").has("volumes"):
        problem = "a controller has one volume: give volumes to pools of brokers"
        raise InvalidSpec(controllers.child("storage").at("volumes"), problem)
    roles = controllers.choice("role", Role, Role.CONTROLLER).roles
    group = _group(controllers, roles, names.CONTROLLER_ROLE, NodeIdRange(0, 99), 3)
    return replace(
        group,
        image=_image(controllers.child("image")) if controllers.has("image") else None,
        probes=controllers.choice("probes", Probes, Probes.HTTP) if controllers.has("probes") else None,
    )


def _pool(pool: Reader) -> Group:
    name = pool.text("name")
    if not _POOL_NAME.match(name) or name == names.CONTROLLER_ROLE:
        raise InvalidSpec(
            pool.at("name"), f"{name!r} is not a pool's name: up to ten lower-case letters and digits, not controller"
        )
    return _group(pool, BROKER, name, None, 3)


def _group(group: Reader, roles: Roles, name: str, ids: NodeIdRange | None, replicas: int) -> Group:
    count = group.number("replicas", replicas)
    if not 0 <= count <= MAX_POOL_REPLICAS:
        raise InvalidSpec(group.at("replicas"), f"must lie between 0 and {MAX_POOL_REPLICAS}, not {count}")
    return Group(
        roles=roles,
        name=name,
        replicas=count,
        node_id_range=_node_ids(group.child("nodeIdRange"), ids),
        storage=(storage := parse_storage(group.child("storage"))),
        overrides=parse_overrides(group.child("storage"), storage, group),
        volumes=parse_volumes(group.child("storage")),
        resources=group.optional_object("resources") or {},
        pod=parse_pod(group.child("pod")),
        process=parse_process(group, group.optional_object("resources") or {}),
        config=_properties(group, "config"),
        rack_node_label=group.child("rack").optional_text("fromNodeLabel"),
        scale_down=_scale_down(group.child("scaleDown")),
        max_unavailable=_max_unavailable(group.child("disruptionBudget")),
        excluded_node_ids=frozenset(group.numbers("excludedNodeIds")),
        failure_domains=_failure_domains(group.child("failureDomains"), count) if group.has("failureDomains") else None,
    )


def _max_unavailable(budget: Reader) -> int | None:
    if not budget.has("maxUnavailable"):
        return None
    if (found := budget.number("maxUnavailable")) < 0:
        raise InvalidSpec(budget.at("maxUnavailable"), f"must be at least 0, not {found}")
    return found


def _failure_domains(domains: Reader, replicas: int) -> FailureDomains:
    policy = domains.choice("policy", DomainPolicy, DomainPolicy.PREFER)
    if policy is DomainPolicy.REQUIRE and replicas < 3:
        raise InvalidSpec(domains.at("policy"), "Require needs three controllers at least")
    return FailureDomains(domains.text("key", FailureDomains().key), policy)


def _scale_down(policy: Reader) -> ScaleDown:
    timeout = duration(policy.text("timeout", "30m"), policy.at("timeout"))
    return ScaleDown(policy.choice("drain", Drain, Drain.REQUIRE), timeout)


def _node_ids(ids: Reader, default: NodeIdRange | None) -> NodeIdRange:
    start = ids.number("start", default.start if default else None)
    end = ids.number("end", default.end if default else None)
    if not 0 <= start <= end <= names.MAX_NODE_ID:
        raise InvalidSpec(ids.path, f"0 <= start <= end <= {names.MAX_NODE_ID} is needed, not {start} and {end}")
    return NodeIdRange(start, end)


def _cluster_id(spec: Reader) -> str | None:
    text = spec.optional_text("clusterID")
    if text is None:
        return None
    try:
        return str(Uuid.parse(text))
    except ValueError as error:
        raise InvalidSpec(spec.at("clusterID"), str(error)) from error


def _config(config: Reader) -> Config:
    return Config(*(_properties(config, part) for part in ("common", "controller", "broker")))


def _properties(parent: Reader, name: str) -> Mapping[str, str]:
    found = parent.texts(name)
    for key, value in found.items():
        path = f"{parent.at(name)}[{key}]"
        if not _PROPERTY_KEY.match(key):
            raise InvalidSpec(path, "is no key of server.properties")
        if "\n" in value or "\r" in value:
            raise InvalidSpec(path, "a value is one line")
        if (instead := owner_of(key)) is not None:
            raise InvalidSpec(path, f"belongs to the operator: {instead}")
    return found
