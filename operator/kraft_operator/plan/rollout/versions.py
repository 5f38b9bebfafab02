"""Raising what is final: metadata.version and kraft.version, one at a time, only upwards, and only when nothing speaks
against it.

Every pod runs the newest revision and is ready, every voter is live, every node said itself that it supports the level,
nobody is registered who cannot be asked, the image has run for its soak time, and the active controller, asked for a
trial that changes nothing, would do it. What speaks against it is told before anything is tried. How long a level has
been waited for is kept in this process only, like every suspicion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kraft_operator.actions import FinalizeFeature
from kraft_operator.api.metadata_versions import FEATURE, KRAFT_FEATURE, name_of
from kraft_operator.api.spec import MetadataVersionPolicy, QuorumFeature, Versions
from kraft_operator.ledger import Formation, JournaledStep, StepKind
from kraft_operator.observed import Observed, Registry
from kraft_operator.plan.rollout.rolling import outdated_pods
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called, listed, verb

BLOCKED = "VersionBlocked"
_WAITING = "finalize "


@dataclass(frozen=True, slots=True)
class Wish:
    feature: str
    level: int
    soak: float

    @property
    def suspicion(self) -> str:
        return f"{_WAITING}{self.feature}={self.level}"

    @property
    def name(self) -> str:
        return f"{self.feature} {name_of(self.level) if self.feature == FEATURE else self.level}"


def finalize_versions(now: Situation) -> Verdict:
    asked = now.cluster.spec.versions
    if now.ledger is None or now.ledger.formation is not Formation.FORMED or not asked.wants_anything:
        return NOTHING
    finalized = now.observed.brokers.registry.finalized
    if finalized is None:
        return _verdict("VersionsUnknown", "no controller says which feature levels are finalized")
    for wish in wishes(asked, now.observed.brokers.registry):
        level = finalized.get(wish.feature, 0)
        if level > wish.level and wish.feature == FEATURE and asked.policy is MetadataVersionPolicy.PINNED:
            message = (
                f"set spec.metadataVersion.value back to {name_of(level)}: that level is finalized and is "
                f"not lowered to {name_of(wish.level)}"
            )
            return Verdict(findings=(Finding(Topic.VERSIONS, "DowngradeRefused", message, stalled=True),))
        if level < wish.level:
            return _raised(now, wish)
    return NOTHING


def wishes(asked: Versions, registry: Registry) -> Iterator[Wish]:
    """What the resource asks for, as far as the nodes' answers say what that is."""
    soak = asked.soak_seconds if asked.policy is MetadataVersionPolicy.FOLLOW else 0.0
    newest = _newest(registry, FEATURE) if asked.policy is MetadataVersionPolicy.FOLLOW else asked.level
    if newest is not None:
        yield Wish(FEATURE, newest, soak)
    newest = _newest(registry, KRAFT_FEATURE)
    if asked.quorum_feature is QuorumFeature.LATEST and newest is not None:
        yield Wish(KRAFT_FEATURE, newest, soak)


def trials(suspects: Collection[str]) -> tuple[tuple[str, int], ...]:
    """Of which levels the active controller is asked what it would say, by what earlier plans wait for."""
    pairs = (each.removeprefix(_WAITING).partition("=") for each in suspects if each.startswith(_WAITING))
    return tuple(sorted((feature, int(level)) for feature, _, level in pairs))


def is_soak(suspicion: str) -> bool:
    """Whether this is how long a level has been waited for."""
    return suspicion.startswith(_WAITING)


def _raised(now: Situation, wish: Wish) -> Verdict:
    assert now.ledger is not None
    if (waits := _not_rolled_out(now)) is not None:
        return _verdict("WaitingForRollout", f"{wish.name} is finalized after the rollout: {waits}")
    registry = now.observed.brokers.registry
    answer = registry.granted.get((wish.feature, wish.level))
    blockers = list(_blockers(now.observed, wish)) or ([f"the controller says: {answer}"] if answer else [])
    suspects = frozenset({wish.suspicion})
    if blockers:
        findings = tuple(Finding(Topic.VERSIONS, BLOCKED, f"{wish.name}: {each}", each) for each in blockers)
        return Verdict(findings=findings, suspects=suspects)
    if answer is None or now.waited.get(wish.suspicion, -1.0) < wish.soak or now.stepped:
        message = f"{wish.name} is finalized once every node has run its image for {wish.soak:g} s"
        return Verdict(findings=(Finding(Topic.VERSIONS, "Soaking", message),), suspects=suspects)
    step = JournaledStep(
        StepKind.FINALIZE, -1, now.fence.holder, now.fence.transitions, (wish.feature, str(wish.level))
    )
    reason = f"every node supports it, no other is registered, and the image has run for {wish.soak:g} s"
    action = FinalizeFeature(wish.feature, wish.level, wish.name, step, reason)
    return Verdict(
        ledger=now.ledger.with_step(step),
        actions=(action,),
        findings=(Finding(Topic.VERSIONS, "Finalizing", f"{wish.name} is being finalized"),),
    )


def _not_rolled_out(now: Situation) -> str | None:
    old = outdated_pods(now.observed.pods, now.observed.sets)
    if now.bad:
        return "the newest revision is bad"
    if old or not all(each.revision for each in now.observed.sets):
        names = sorted(each.name for each in old) or ["a StatefulSet"]
        return f"{listed(names)} {verb(names, 'runs', 'run')} an older revision"
    wanted = {node.node_id for node in now.nodes if not node.held}
    ready = {pod.node_id for pod in now.observed.pods if pod.ready and not pod.terminating}
    if wanted != ready:
        away = sorted(wanted ^ ready)
        return f"{called('node', away)} {verb(away, 'is', 'are')} not ready, or about to leave"
    quorum = now.observed.quorum
    if not quorum.proven or quorum.live < len(quorum.voters):
        return "not every voter is known to be live"
    return None


def _blockers(observed: Observed, wish: Wish) -> Iterator[str]:
    registry = observed.brokers.registry
    running = {pod.node_id for pod in observed.pods}
    older: dict[str, list[int]] = {}
    for node_id in sorted(running):
        levels = registry.supported.get(node_id)
        if levels is None:
            yield f"node {node_id} does not say which levels it supports"
        elif wish.feature not in levels or not levels[wish.feature][0] <= wish.level <= levels[wish.feature][1]:
            newest = levels.get(wish.feature, (0, 0))[1]
            older.setdefault(name_of(newest) if wish.feature == FEATURE else str(newest), []).append(node_id)
    for known, nodes in older.items():
        yield (
            f"a newer image is needed on {called('node', nodes)}, which "
            f"{verb(nodes, 'supports', 'support')} {known} at most"
        )
    for broker in sorted((observed.brokers.registered or frozenset()) - running):
        yield (
            f"start or unregister broker {broker}: it is registered and does not run, so what it supports is not known"
        )


def _newest(registry: Registry, feature: str) -> int | None:
    return max((levels[feature][1] for levels in registry.supported.values() if feature in levels), default=None)


def _verdict(reason: str, message: str) -> Verdict:
    return Verdict(findings=(Finding(Topic.VERSIONS, reason, message),))
