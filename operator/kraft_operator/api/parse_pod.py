"""`pod` of a group out of the resource: what Kubernetes would refuse, what Pod Security would, and what the operator
owns. Sources and containers are Kubernetes' objects; of them only what can collide with the operator's is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kraft_operator.api import names, pod
from kraft_operator.api.pod import Pod, PodProbes, RunAs
from kraft_operator.api.reader import InvalidSpec, Reader

_LABEL: Final = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
_VARIABLE: Final = re.compile(r"^[A-Za-z_][A-Za-z0-9_.-]{0,252}$")
_PATH: Final = re.compile(r"^(/[A-Za-z0-9_@%+=,-][A-Za-z0-9._@%+=,-]*|/\.[A-Za-z0-9_][A-Za-z0-9._-]*)+$")
"""No trailing slash, no component that leads elsewhere."""
_DISK: Final = re.compile(r"^data-.+-[0-9]+-0$")
_OURS: Final = "belongs to the operator"


def parse_pod(values: Reader) -> Pod:
    _check_decoration(values)
    found = Pod(
        labels=values.texts("labels"),
        annotations=values.texts("annotations"),
        node_selector=values.texts("nodeSelector"),
        affinity=values.optional_object("affinity"),
        tolerations=values.objects("tolerations"),
        topology_spread_constraints=values.objects("topologySpreadConstraints")
        if values.has("topologySpreadConstraints")
        else None,
        priority_class_name=values.optional_text("priorityClassName"),
        termination_grace_period_seconds=values.number("terminationGracePeriodSeconds", 90),
        env=_environment(values),
        env_from=_environment_sources(values),
        volumes=_volumes(values),
        volume_mounts=values.objects("volumeMounts"),
        sidecars=values.objects("sidecars"),
        init_containers=values.objects("initContainers"),
        service_account_name=values.optional_text("serviceAccountName"),
        run_as=values.choice("runAs", RunAs, RunAs.FIXED),
        security_context=_security_context(values.child("securityContext")),
        runtime_class_name=values.optional_text("runtimeClassName"),
        host_aliases=values.objects("hostAliases"),
        probes=_probes(values.child("probes")),
        lifecycle=values.optional_object("lifecycle"),
    )
    if found.run_as is RunAs.ASSIGNED and "runAsUser" in found.security_context:
        raise InvalidSpec(values.at("runAs"), "Assigned leaves the user to the platform: take runAsUser out")
    _check_mounts(values, found)
    _check_containers(values, found)
    return found


def check_pod(path: str, found: Pod, taken: frozenset[int]) -> Iterator[tuple[str, str]]:
    """What is wrong between a group's pod and the ports that the node in it has: (path, problem)."""
    for kind, containers in (("sidecars", found.sidecars), ("initContainers", found.init_containers)):
        for container in containers:
            for port in container.get("ports") or ():
                if port["containerPort"] in taken:
                    yield f"{path}.{kind}", f"port {port['containerPort']} of {container['name']} {_OURS}"


def _check_decoration(values: Reader) -> None:
    for kind in ("labels", "annotations"):
        for key in values.texts(kind):
            domain = key.partition("/")[0]
            if domain in (names.GROUP, "app.kubernetes.io", "statefulset.kubernetes.io"):
                raise InvalidSpec(f"{values.at(kind)}[{key}]", _OURS)


def _environment(values: Reader) -> tuple[Mapping[str, Any], ...]:
    seen = set()
    for item in values.items("env"):
        name = item.text("name")
        if not _VARIABLE.match(name):
            raise InvalidSpec(item.at("name"), f"{name!r} is no name of a variable")
        if name in pod.OWNED_ENVIRONMENT:
            raise InvalidSpec(item.at("name"), f"{name} {_OURS}: {pod.OWNED_ENVIRONMENT[name]}")
        if name in seen:
            raise InvalidSpec(item.at("name"), f"{name} stands there twice")
        if item.optional_text("value") is not None and item.optional_object("valueFrom") is not None:
            raise InvalidSpec(item.path, "value and valueFrom exclude each other")
        seen.add(name)
    return values.objects("env")


def _environment_sources(values: Reader) -> tuple[Mapping[str, Any], ...]:
    for item in values.items("envFrom"):
        if (item.optional_object("configMapRef") is None) == (item.optional_object("secretRef") is None):
            raise InvalidSpec(item.path, "exactly one of configMapRef and secretRef is needed")
    return values.objects("envFrom")


def _volumes(values: Reader) -> tuple[Mapping[str, Any], ...]:
    seen = set()
    for item in values.items("volumes"):
        name = _named(item)
        if name in pod.OWNED_VOLUMES:
            raise InvalidSpec(item.at("name"), f"volume {name} {_OURS}: give yours another name")
        if name in seen:
            raise InvalidSpec(item.at("name"), f"{name} stands there twice")
        seen.add(name)
        sources = sorted(set(item.values) - {"name"})
        if strange := [each for each in sources if each not in pod.VOLUME_SOURCES]:
            allowed = ", ".join(pod.VOLUME_SOURCES)
            raise InvalidSpec(
                item.at(strange[0]), f"restricted Pod Security does not allow it; these it does: {allowed}"
            )
        if len(sources) != 1 or item.optional_object(sources[0]) is None:
            raise InvalidSpec(item.path, "exactly one source is needed")
        claim = item.child("persistentVolumeClaim").optional_text("claimName") or ""
        if _DISK.match(claim):
            path = item.child("persistentVolumeClaim").at("claimName")
            raise InvalidSpec(path, f"{claim} {_OURS}: it holds a node's disk and cannot be mounted a second time")
    return values.objects("volumes")


def _named(item: Reader) -> str:
    name = item.text("name")
    if not _LABEL.match(name):
        raise InvalidSpec(item.at("name"), f"{name!r} is no DNS label")
    return name


def _security_context(context: Reader) -> Mapping[str, Any]:
    for key in context.values:
        if key not in pod.SECURITY_FIELDS:
            raise InvalidSpec(context.at(key), f"{_OURS}: pods satisfy restricted Pod Security")
    if context.values.get("runAsUser") == 0:
        raise InvalidSpec(context.at("runAsUser"), "must be at least 1: pods satisfy restricted Pod Security")
    for key in ("runAsUser", "runAsGroup", "fsGroup"):
        context.number(key, 0)
    for key in ("seccompProfile", "appArmorProfile"):
        if context.child(key).values.get("type", "RuntimeDefault") not in ("RuntimeDefault", "Localhost"):
            raise InvalidSpec(context.child(key).at("type"), "restricted Pod Security allows RuntimeDefault, Localhost")
    return context.values


def _probes(probes: Reader) -> PodProbes:
    found = []
    for name in ("startup", "readiness", "liveness"):
        one = probes.child(name)
        for key in one.values:
            if key not in pod.PROBE_FIELDS:
                raise InvalidSpec(
                    one.at(key), f"{_OURS}: only times and counts are yours: {', '.join(pod.PROBE_FIELDS)}"
                )
            if one.number(key) < (0 if key == "initialDelaySeconds" else 1):
                raise InvalidSpec(one.at(key), "must be at least 1")
        found.append({key: one.number(key) for key in one.values})
    return PodProbes(*found)


def _check_mounts(values: Reader, found: Pod) -> None:
    """Of the node: only volumes of this pod, and nowhere over or into what the operator mounts."""
    known = {volume["name"] for volume in found.volumes}
    taken = set()
    for item in values.items("volumeMounts"):
        path = item.text("mountPath")
        _check_volume(item, known)
        if not _PATH.match(path):
            raise InvalidSpec(item.at("mountPath"), f"{path!r} is no absolute path without '..' and trailing '/'")
        if (owned := pod.shadowed(path)) is not None:
            raise InvalidSpec(item.at("mountPath"), f"{path} collides with {owned}, which {_OURS}: mount it elsewhere")
        if path in taken:
            raise InvalidSpec(item.at("mountPath"), f"{path} stands there twice")
        taken.add(path)


def _check_volume(mount: Reader, known: set[str]) -> None:
    name = mount.text("name")
    if name not in known:
        raise InvalidSpec(mount.at("name"), f"volume {name} is not among pod.volumes; the operator's own are its own")


def _check_containers(values: Reader, found: Pod) -> None:
    known = {volume["name"] for volume in found.volumes}
    seen = set(pod.OWNED_CONTAINERS)
    for kind in ("sidecars", "initContainers"):
        for item in values.items(kind):
            name = _named(item)
            if name in pod.OWNED_CONTAINERS:
                raise InvalidSpec(item.at("name"), f"container {name} {_OURS}: give yours another name")
            if name in seen:
                raise InvalidSpec(item.at("name"), f"{name} stands there twice, among sidecars and initContainers")
            seen.add(name)
            item.text("image")
            for mount in item.items("volumeMounts"):
                _check_volume(mount, known)
            for port in item.items("ports"):
                port.number("containerPort")
                if port.number("hostPort", 0):
                    raise InvalidSpec(port.at("hostPort"), "restricted Pod Security does not allow it")
                if port.optional_text("name") == names.HTTP_PORT_NAME:
                    raise InvalidSpec(port.at("name"), f"port name {names.HTTP_PORT_NAME} {_OURS}")
            context = item.child("securityContext")
            for key in ("privileged", "allowPrivilegeEscalation"):
                if context.values.get(key) is True:
                    raise InvalidSpec(context.at(key), "restricted Pod Security does not allow it")
