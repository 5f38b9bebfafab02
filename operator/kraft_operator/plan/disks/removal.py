"""Further volumes that the resource names no more: emptied by their brokers, then done without.

First every broker of the pool closes its directory on the volume (`cordoned.log.dirs`, KIP-1066), then each in turn
moves what lies there to its other volumes, a few replicas at a time. Pods are made without the volume once every broker
has said that its directory is closed and that nothing lies in it (V1), and each is asked again before it is restarted.
A claim goes only if the resource lets volumes go with it, when no pod has the volume any more. Until that last step the
volume may be put back into the resource: the directories are opened again, and are what they were.

Apache Kafka starts with a cordon of a directory that it does not have, but applies none of its dynamic configuration,
the cluster's defaults neither, and takes no change of it, until that cordon is lifted. So it is lifted when the old
process is gone, by the controllers, which need no broker for that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kraft_operator.actions import Action, CordonBroker, DropClaim, UncordonBroker
from kraft_operator.api.metadata_versions import FEATURE, level_of
from kraft_operator.api.spec import Group, LifecycleState, VolumePolicy
from kraft_operator.directories import Directories
from kraft_operator.ledger import JournaledStep, Ledger, Removal, StepKind
from kraft_operator.manifests.further import log_directory
from kraft_operator.observed import Claim, Pod, QuorumState
from kraft_operator.plan.disks.rooms import NoPlace, placed
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called, listed, verb
from kraft_operator.removals import DropVolume, EmptyDirectory

AT_ONCE: Final = 20
"""Replicas of one broker on the move at a time: they share its disks with its clients."""
LEVEL: Final = level_of("4.3-IV0")


def remove_volumes(now: Situation) -> Verdict:
    if now.ledger is None or now.cluster.spec.lifecycle is not LifecycleState.RUNNING:
        return NOTHING
    found, before = NOTHING, now.ledger
    for pool in now.cluster.spec.broker_pools:
        for step in (_out, _taken_back, _leaving):
            verdict = step(now, now.ledger, pool)
            now = replace(now, ledger=verdict.ledger or now.ledger)
            assert now.ledger is not None
            found = Verdict(actions=found.actions + verdict.actions, findings=found.findings + verdict.findings)
    return NOTHING if found == NOTHING and now.ledger == before else replace(found, ledger=now.ledger)


def may_hold(now: Situation, pod: Pod) -> str:
    """Why a pod may not be restarted without a volume that it has; empty if it may. Whoever does not run cannot be
    asked, and has been: its directory was closed then.
    """
    if now.ledger is None or not pod.runs or pod.terminating:
        return ""
    seen = now.observed.brokers.directories.get(pod.node_id)
    for volume in sorted(pod.volumes):
        removal = now.ledger.removal(pod.pool, volume)
        if removal is None or not removal.gone:
            continue
        if seen is None or not seen.proves_empty(log_directory(volume)):
            return f"volume {volume} was not seen to be empty"
        if others := _others(seen, _paths(now.ledger, pod.pool)):
            return f"cordoned.log.dirs of the broker names {listed(others)}, too"
    return ""


# before pods are made without it


def _leaving(now: Situation, ledger: Ledger, pool: Group) -> Verdict:
    volumes = [volume for name, volume in now.cluster.kept_volumes if name == pool.name]
    nodes = _with_volume(ledger, pool, volumes)
    if not volumes or not nodes:
        return NOTHING
    if (why := _refusal(now, ledger, pool, volumes, nodes)) is not None:
        return Verdict(findings=tuple(_kept(pool, each, why) for each in volumes))
    if (why := _wait(now, ledger, pool, nodes)) is not None:
        return _under_way(pool, volumes, why)
    for volume in volumes:
        ledger = ledger.with_removal(ledger.removal(pool.name, volume) or Removal(pool.name, volume))
    paths = [log_directory(each) for each in volumes]
    if opened := [each for each in nodes if not _closed(now, each, paths)]:
        actions = tuple(_close(now, pool, each, paths) for each in opened)
        for action in actions:
            ledger = ledger.with_step(action.step)
        for volume in volumes:
            known = ledger.removal(pool.name, volume)
            assert known is not None
            ledger = ledger.with_removal(replace(known, closed=tuple(sorted({*known.closed, *opened}))))
        text = f"{called('broker', opened)} {verb(opened, 'closes its directory', 'close their directories')} first"
        return replace(_under_way(pool, volumes, text), ledger=ledger, actions=actions)
    for node_id in nodes:
        if any(not _seen(now, node_id).proves_empty(path) for path in paths):
            return _emptied(now, ledger, pool, node_id, volumes)
    for volume in volumes:
        known = ledger.removal(pool.name, volume)
        assert known is not None
        ledger = ledger.with_removal(replace(known, gone=True))
    reason = f"{called('broker', nodes)} {verb(nodes, 'says', 'say')} that nothing lies there or comes (V1)"
    dropped = tuple(DropVolume(pool.name, each, reason) for each in volumes)
    return replace(_under_way(pool, volumes, "every directory on it is empty"), ledger=ledger, actions=dropped)


def _with_volume(ledger: Ledger, pool: Group, volumes: list[str]) -> list[int]:
    return sorted(
        {
            entry.node_id
            for volume, entry in ledger.volumes
            if volume in volumes and entry.pool == pool.name and not entry.retired
        }
    )


def _refusal(now: Situation, ledger: Ledger, pool: Group, volumes: list[str], nodes: list[int]) -> str | None:
    """What only a person can change."""
    level = (now.observed.brokers.registry.finalized or {}).get(FEATURE)
    if level is not None and level < LEVEL:
        return (
            "raise metadata.version to 4.3-IV0 (spec.metadataVersion), below which no directory can be closed, or add "
            "a pool with the volumes that you want and scale this one down: "
            f"{called('broker', nodes)} {verb(nodes, 'has', 'have')} a directory on it"
        )
    paths = [log_directory(each) for each in volumes]
    for node_id in nodes:
        seen = now.observed.brokers.directories.get(node_id)
        if seen is None:
            continue
        for path in paths:
            if (found := seen.at(path)) is not None and found.broken:
                return (
                    f"or give its directory up by deleting its claim: broker {node_id} cannot use it ({found.broken})"
                )
        if (others := _others(seen, [*paths, *_paths(ledger, pool.name)])) and not _leaves(now, node_id):
            return (
                f"or lift what else cordoned.log.dirs of broker {node_id} names ({listed(others)}): the operator sets "
                "and lifts it as a whole"
            )
        if isinstance(place := placed(seen, paths, AT_ONCE), NoPlace):
            return f"or make room on the other volumes of broker {node_id}: {place.text}"
    return None


def _wait(now: Situation, ledger: Ledger, pool: Group, nodes: list[int]) -> str | None:
    """What may pass by itself."""
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return f"the quorum is {now.observed.quorum.state.value}"
    silent = [each for each in nodes if each not in now.observed.brokers.directories]
    if silent:
        return f"{called('broker', silent)} {verb(silent, 'does', 'do')} not tell what lies there"
    before = [each.volume for each in ledger.removals if each.pool == pool.name and each.gone and _worn(now, each)]
    return f"{called('volume', before)} {verb(before, 'goes', 'go')} first" if before else None


def _emptied(now: Situation, ledger: Ledger, pool: Group, node_id: int, volumes: list[str]) -> Verdict:
    """The next replicas of this broker, if there is room for more on the move."""
    paths = [log_directory(each) for each in volumes]
    moves = placed(_seen(now, node_id), paths, AT_ONCE)
    held = [each for each in volumes if not _seen(now, node_id).proves_empty(log_directory(each))]
    text = f"broker {node_id} moves what lies there to its other volumes"
    told = replace(_under_way(pool, held, text, f"broker {node_id}"), ledger=ledger)
    if isinstance(moves, NoPlace) or not moves:
        return told
    step = JournaledStep(StepKind.MOVE_REPLICAS, node_id, now.fence.holder, now.fence.transitions, tuple(held))
    reason = f"{len(moves)} {'replica moves' if len(moves) == 1 else 'replicas move'} off {called('volume', held)}"
    action = EmptyDirectory(node_id, held[0], *_at(now, pool, node_id), moves, step, reason)
    return replace(told, ledger=ledger.with_step(step), actions=(action,))


# afterwards


def _out(now: Situation, ledger: Ledger, pool: Group) -> Verdict:
    """Volumes that pods are made without."""
    found = Verdict(ledger=ledger)
    for removal in ledger.removals:
        if removal.pool != pool.name or not removal.gone or removal.volume in pool.volumes:
            continue
        assert found.ledger is not None
        verdict = _one_out(now, found.ledger, pool, removal)
        found = replace(verdict, actions=found.actions + verdict.actions, findings=found.findings + verdict.findings)
    return found


def _one_out(now: Situation, ledger: Ledger, pool: Group, removal: Removal) -> Verdict:
    path, volume = log_directory(removal.volume), removal.volume
    worn = _worn(now, removal)
    filled = [
        each for each in worn if (seen := now.observed.brokers.directories.get(each)) and not seen.proves_empty(path)
    ]
    if filled and now.observed.quorum.state is QuorumState.AVAILABLE:
        return _closed_again(now, ledger, pool, filled[0], removal)
    ledger, actions = _lifted(now, ledger, removal, [each for each in removal.closed if each not in worn])
    told = _under_way(pool, [volume], "its brokers are restarted without it").findings if worn else ()
    claims = [each for each in now.observed.further_claims if (each.pool, each.further) == (pool.name, volume)]
    if not worn and now.cluster.spec.volume_policy is VolumePolicy.DELETE and not actions:
        actions = tuple(_dropped(each) for each in claims if not each.terminating and _serves(now, each.node_id))
    there = {each.node_id for each in claims}
    left = [
        entry
        for entry in ledger.of_volume(volume)
        if entry.pool != pool.name
        or entry.node_id in there
        or entry.node_id in worn
        or entry.pv_name in now.observed.volumes
    ]
    ledger = ledger.with_volume(volume, left) if len(left) != len(ledger.of_volume(volume)) else ledger
    known = ledger.removal(pool.name, volume)
    if not (claims or worn or actions or (known and known.closed) or any(each.pool == pool.name for each in left)):
        ledger = ledger.without_removal(pool.name, volume)
    return Verdict(ledger, actions=actions, findings=told)


def _closed_again(now: Situation, ledger: Ledger, pool: Group, node_id: int, removal: Removal) -> Verdict:
    """Something has come after all: its pod is not restarted before it is moved."""
    path = log_directory(removal.volume)
    if _closed(now, node_id, [path]):
        return _emptied(now, ledger, pool, node_id, [removal.volume])
    action = _close(now, pool, node_id, [each for each in _paths(ledger, pool.name) if _seen(now, node_id).at(each)])
    ledger = ledger.with_removal(replace(removal, closed=tuple(sorted({*removal.closed, node_id}))))
    told = _under_way(pool, [removal.volume], f"broker {node_id} closes its directory again", f"broker {node_id}")
    return replace(told, ledger=ledger.with_step(action.step), actions=(action,))


def _taken_back(now: Situation, ledger: Ledger, pool: Group) -> Verdict:
    """Volumes that the resource names again: what the operator has closed is opened."""
    kept = {volume for name, volume in now.cluster.kept_volumes if name == pool.name}
    back = [each for each in ledger.removals if each.pool == pool.name and each.volume in set(pool.volumes) - kept]
    actions: tuple[Action, ...] = ()
    for removal in back:
        others = [
            log_directory(each.volume)
            for each in ledger.removals
            if each.pool == pool.name and not (each in back or each.gone)
        ]
        ledger, more = _lifted(now, ledger, removal, list(removal.closed), [] if removal.gone else others)
        actions += tuple(each for each in more if not any(_about(one) == _about(each) for one in actions))
        if not (known := ledger.removal(pool.name, removal.volume)) or not known.closed:
            ledger = ledger.without_removal(pool.name, removal.volume)
    return Verdict(ledger, actions=actions)


def _lifted(
    now: Situation, ledger: Ledger, removal: Removal, nodes: list[int], others: list[str] | None = None
) -> tuple[Ledger, tuple[Action, ...]]:
    """These brokers are open again but for `others`. It is noted once it is done (`cordon.opened`), or seen."""
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return ledger, ()
    path, actions, still = log_directory(removal.volume), list[Action](), set(removal.closed)
    pool = now.cluster.spec.group(removal.pool)
    for node_id in nodes:
        seen = now.observed.brokers.directories.get(node_id)
        if node_id in ledger.cordoned or (seen is not None and seen.closed is not None and path not in seen.closed):
            still.discard(node_id)
        elif others and pool is not None:
            actions += [_close(now, pool, node_id, others)] if seen is not None else []
        else:
            step = JournaledStep(StepKind.UNCORDON, node_id, now.fence.holder, now.fence.transitions)
            actions.append(UncordonBroker(node_id, step, f"volume {removal.volume} is closed no more"))
    for action in actions:
        assert isinstance(action, CordonBroker | UncordonBroker)
        ledger = ledger.with_step(action.step)
    if still != set(removal.closed):
        ledger = ledger.with_removal(replace(removal, closed=tuple(sorted(still))))
    return ledger, tuple(actions)


def _dropped(claim: Claim) -> DropClaim:
    reason = "its volume was empty when its broker did without it, and spec.deletionPolicy.volumes is Delete"
    return DropClaim(claim.name, claim.uid, reason)


# what is seen


def _seen(now: Situation, node_id: int) -> Directories:
    return now.observed.brokers.directories[node_id]


def _closed(now: Situation, node_id: int, paths: list[str]) -> bool:
    seen = _seen(now, node_id)
    return all(seen.takes_nothing(each) or seen.at(each) is None for each in paths)


def _others(seen: Directories, paths: list[str]) -> list[str]:
    """What somebody else has closed."""
    return sorted(set(seen.closed or ()) - set(paths))


def _paths(ledger: Ledger, pool: str) -> list[str]:
    """Of the volumes that its pods are made without."""
    return [log_directory(each.volume) for each in ledger.removals if each.pool == pool and each.gone]


def _leaves(now: Situation, node_id: int) -> bool:
    """The operator itself has closed all of it."""
    return now.ledger is not None and node_id in now.ledger.cordoned


def _worn(now: Situation, removal: Removal) -> list[int]:
    """Brokers whose pod has the volume yet."""
    return sorted(
        each.node_id for each in now.observed.pods if each.pool == removal.pool and removal.volume in each.volumes
    )


def _serves(now: Situation, node_id: int) -> bool:
    """A broker that left, and one that was seen at work without its volume."""
    pod, node_set = now.observed.pod(node_id), now.observed.node_set(node_id)
    return node_set is None or (pod is not None and pod.ready and not pod.terminating)


# steps and words


def _close(now: Situation, pool: Group, node_id: int, paths: list[str]) -> CordonBroker:
    step = JournaledStep(StepKind.CORDON, node_id, now.fence.holder, now.fence.transitions)
    reason = "the resource does without a volume"
    return CordonBroker(node_id, *_at(now, pool, node_id), step, reason, tuple(sorted(paths)))


def _at(now: Situation, pool: Group, node_id: int) -> tuple[str, int]:
    pod = now.observed.pod(node_id)
    return now.cluster.host(pool, node_id), now.cluster.spec.broker_port(pod.port if pod is not None else 0)


def _about(action: Action) -> tuple[str, int]:
    assert isinstance(action, CordonBroker | UncordonBroker)
    return type(action).__name__, action.node_id


def _kept(pool: Group, volume: str, why: str) -> Finding:
    message = f"put volume {volume} back into storage.volumes of pool {pool.name}, {why}"
    return Finding(Topic.STORAGE, "VolumeKept", message, f"{pool.name}/{volume}", stalled=True)


def _under_way(pool: Group, volumes: list[str], text: str, subject: str = "") -> Verdict:
    message = f"{called('volume', volumes)} {verb(volumes, 'leaves', 'leave')} pool {pool.name}: {text}"
    about = subject or f"{pool.name}/{volumes[0]}"
    return Verdict(findings=(Finding(Topic.STORAGE, "RemovingVolume", message, about),))
