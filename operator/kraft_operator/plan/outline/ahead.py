"""The whole way from what was seen to what the resource asks for, as steps in the order in which they will be taken.

The rules decide the next step only; this says what follows it. It decides nothing: were it wrong, a person would read
something wrong and (in mode Plan) approve something else than what is asked for next, which then has to be approved,
too. What cannot be known while the quorum is not known is not guessed. The order of restarts and removals is that of
the rules themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kraft_operator.actions import Action, ApplyChild, DeleteChild
from kraft_operator.api import names
from kraft_operator.api.spec import Drain, Group, LifecycleState, LostDisk, Role, RolloutStrategy
from kraft_operator.ledger import Entry, Formation, Ledger
from kraft_operator.manifests.nodes import template_of
from kraft_operator.observed import Pod
from kraft_operator.plan.disks.claims import guarded_groups
from kraft_operator.plan.giving_up import asked_for_fewer, give_up, is_forced
from kraft_operator.plan.nodes.replacement import ahead_of_brokers, discarded
from kraft_operator.plan.outline import later
from kraft_operator.plan.rollout.rolling import outdated_pods, restart_order
from kraft_operator.plan.situation import Situation
from kraft_operator.plan.steps import PlanStep, Risk
from kraft_operator.plan.voters.loss import Loss, loss_of
from kraft_operator.plan.voters.membership import removal_order
from storage_guard.formats import Verdict as Disk

FORM_QUORUM: Final = "form-quorum"
CONFIGS: Final = "configs"


def ahead(now: Situation, actions: Sequence[Action]) -> list[PlanStep]:
    """`now` is the situation as the rules left it, `actions` what they decided. Each step once."""
    ledger = now.ledger
    if ledger is None:
        return []
    found = [*_children(now, actions), *later.volumes(now)]
    if now.cluster.spec.lifecycle is LifecycleState.HIBERNATED:
        found += _falling_asleep(now)
    elif ledger.formation is not Formation.FORMED:
        found += _forming(now, ledger)
    else:
        found += [*_controllers(now, ledger), *_brokers(now, ledger), *_restarts(now, actions), *later.versions(now)]
    return list({step.id: step for step in reversed(found)}.values())[::-1]


# children


def child_step(action: Action, now: Situation, replaced: frozenset[str]) -> PlanStep | None:
    """`replaced` names the StatefulSets that are applied in the same pass: a node's file and set are one step. The
    disruption budget of the voters follows the headroom and is no step."""
    match action:
        case ApplyChild(manifest):
            return _applied(manifest, action.reason, now, replaced)
        case DeleteChild():
            return _deleted(action, now)
        case _:
            return None


def _children(now: Situation, actions: Sequence[Action]) -> Iterator[PlanStep]:
    replaced = applied_sets(actions)
    for action in actions:
        if (step := child_step(action, now, replaced)) is not None:
            yield step


def applied_sets(actions: Sequence[Action]) -> frozenset[str]:
    return frozenset(
        each.manifest["metadata"]["name"]
        for each in actions
        if isinstance(each, ApplyChild) and each.manifest["kind"] == "StatefulSet"
    )


def _applied(manifest: Mapping[str, Any], reason: str, now: Situation, replaced: frozenset[str]) -> PlanStep | None:
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    node = (manifest["metadata"].get("labels") or {}).get(names.LABEL_NODE_ID)
    if node is not None and now.ledger is not None and int(node) == now.ledger.node_made_anew:
        return None  # ProtectClaims was asked for by name
    if kind == "PodDisruptionBudget" and _follows(manifest, now):
        return None
    if node is None:
        return PlanStep(f"apply/{kind}/{name}", "ApplyChild", f"{kind}/{name}", reason)
    if kind == "StatefulSet" and manifest["spec"].get("replicas") == 0:
        return hold(int(node), name)
    if kind == "StatefulSet":
        return PlanStep(f"apply-node/{node}", "ApplyNode", name, f"its StatefulSet: {reason}")
    if name in replaced or now.observed.node_set(int(node)) is None:
        return None
    return configs(now)


def _follows(budget: Mapping[str, Any], now: Situation) -> bool:
    """The voters' budget follows the headroom; one that is there, or that protects a claim, follows the claims."""
    group = (budget["metadata"].get("labels") or {}).get(names.LABEL_POOL)
    there = any(
        (each.kind, each.name) == ("PodDisruptionBudget", budget["metadata"]["name"]) for each in now.observed.children
    )
    return there or group == now.cluster.spec.controllers.name or group in guarded_groups(now)


def _deleted(action: DeleteChild, now: Situation) -> PlanStep:
    live = next((each for each in now.observed.children if (each.kind, each.name) == (action.kind, action.name)), None)
    labels = (live.live["metadata"].get("labels") or {}) if live else {}
    node = labels.get(names.LABEL_NODE_ID)
    if node is not None and action.kind in ("StatefulSet", "ConfigMap"):
        return delete_node(int(node), action.name)
    target = f"{action.kind}/{action.name}"
    return PlanStep(f"delete/{target}", "DeleteChild", target, action.reason)


def configs(now: Situation) -> PlanStep:
    reason = "they say where the controllers are, and no pod is restarted for it"
    return PlanStep(CONFIGS, "ApplyConfigs", f"ConfigMaps of the nodes of {now.cluster.name}", reason)


def delete_node(node_id: int, name: str) -> PlanStep:
    gate = "it is no voter and not registered any more"
    reason = "nothing wants its StatefulSet any more; its volume stays"
    return PlanStep(f"delete-node/{node_id}", "DeleteNode", name, reason, gate, risk=Risk.AVAILABILITY)


def hold(node_id: int, name: str, gate: str = "") -> PlanStep:
    reason = "its pod shuts down, its disk stays"
    return PlanStep(f"hold/{node_id}", "HoldNode", name, reason, gate, risk=Risk.AVAILABILITY)


# disks


def _grant(now: Situation, group: Group, node_id: int) -> PlanStep:
    pod = names.pod_name(now.cluster.name, group.name, node_id)
    gate = "its guard saw an empty disk on a claim that is bound; the grant holds for that disk only"
    return PlanStep(f"grant/{node_id}", "FormatDisk", pod, "it has no directory yet", gate)


def _has_directory(ledger: Ledger, node_id: int) -> bool:
    entry = ledger.entry(node_id)
    return entry is not None and entry.directory_id is not None


# the first quorum


def _forming(now: Situation, ledger: Ledger) -> Iterator[PlanStep]:
    wanted = now.cluster.spec.controllers.node_ids
    first = ledger.initial_controllers or wanted
    for node_id in first:
        if not _has_directory(ledger, node_id):
            yield _grant(now, now.cluster.spec.controllers, node_id)
    voters = ", ".join(map(str, first))
    gate = "every disk that could hold an older quorum was seen to be empty"
    yield PlanStep(FORM_QUORUM, "FormQuorum", f"voters {voters}", "they are named once, as they are formatted", gate)
    later = [node_id for node_id in wanted if node_id not in first]
    for node_id in later:
        name = names.node_name(now.cluster.name, now.cluster.spec.controllers.name, node_id)
        yield PlanStep(
            f"apply-node/{node_id}", "ApplyNode", name, "its StatefulSet: it is missing", "the quorum is formed"
        )
        yield from _joining(now, ledger, node_id)
    if later:
        yield configs(now)
    yield from _brokers(now, ledger)


# controllers


def _controllers(now: Situation, ledger: Ledger) -> Iterator[PlanStep]:
    """Lost ones replaced, then missing ones added, then surplus ones removed, then their sets deleted."""
    quorum, group = now.observed.quorum, now.cluster.spec.controllers
    wanted = set(group.node_ids)
    lost = dict(_given_up(now, ledger))
    for entry, loss in lost.items():
        yield _removed_as_lost(entry, loss)
        if entry.node_id in wanted:
            yield from _joining(now, ledger, entry.node_id, entry)
    gone = {entry.node_id for entry in lost}
    for node_id in group.node_ids:
        voter = quorum.voter(node_id)
        missing = voter is None or ledger.is_written_off(*voter.key)
        known = bool(quorum.voters) or not _has_directory(ledger, node_id)
        if missing and known and node_id not in gone:
            yield from _joining(now, ledger, node_id)
    surplus = [
        each
        for each in quorum.voters
        if each.node_id not in gone and (each.node_id not in wanted or ledger.is_written_off(*each.key))
    ]
    for voter in sorted(surplus, key=lambda each: removal_order(each, ledger, quorum.leader_id)):
        written_off = ledger.is_written_off(*voter.key)
        yield _removed(
            voter.node_id, voter.directory_id, live=voter.live and not written_off,
            reason="it was written off" if written_off else asked_for_fewer(len(wanted)),
        )  # fmt: skip
    leaving = [each for each in now.observed.sets if each.pool == group.name and each.node_id not in wanted]
    for node_set in leaving:
        yield delete_node(node_set.node_id, node_set.name)
    if leaving:
        yield configs(now)


def _given_up(now: Situation, ledger: Ledger) -> Iterator[tuple[Entry, Loss]]:
    """Voters whose disk is proven to be lost, for as long as it takes, and are to be replaced."""
    policy = now.cluster.spec.recovery
    if policy.lost_disk is not LostDisk.REPLACE:
        return
    proven = [
        (entry, loss)
        for entry in ledger.entries
        if entry.role == Role.CONTROLLER.value and entry.directory_id is not None and not entry.retired
        if entry.node_id != ledger.node_made_anew
        if (loss := loss_of(entry, now.observed, policy.node_gone, ledger.written_off)) is not None
        and loss.blocked is None
    ]
    size = len(ledger.controllers or ledger.initial_controllers)
    if size - len(proven) < size // 2 + 1:
        return
    announced = {each.id for each in now.published.ahead}
    for entry, loss in proven:
        step = _removed_as_lost(entry, loss)  # evidence of another kind has to stand anew; the step stays announced
        if now.waited.get(loss.key(entry), 0.0) >= policy.debounce_seconds or step.id in announced:
            yield entry, loss


def _removed_as_lost(entry: Entry, loss: Loss) -> PlanStep:
    assert entry.directory_id is not None
    return _removed(entry.node_id, entry.directory_id, live=False, reason=loss.text)


def _removed(node_id: int, directory_id: str, *, live: bool, reason: str) -> PlanStep:
    lemma = "L3" if live else "L1"
    gate = (
        "the controllers that are asked for are live voters, and of those that remain a majority is live (L3)"
        if live
        else "the quorum knows it to be dead, and of those that remain a majority is live (L1)"
    )
    risk = Risk.AVAILABILITY if live else Risk.NONE
    return PlanStep(
        f"remove-voter/{node_id}/{directory_id}", "RemoveVoter", f"voter {node_id} {directory_id}", reason, gate, lemma, risk,
    )  # fmt: skip


def _joining(now: Situation, ledger: Ledger, node_id: int, lost: Entry | None = None) -> Iterator[PlanStep]:
    """From no disk, or one that was written off, to a voter; `lost` is what the ledger says of a disk that is given up
    only now.
    """
    group, entry = now.cluster.spec.controllers, ledger.entry(node_id)
    if (claim := _in_the_way(now, ledger, node_id, lost)) is not None:
        reason = "it holds, or is bound to, a directory that was given up"
        yield PlanStep(
            f"discard/{node_id}", "DiscardClaim", f"PersistentVolumeClaim/{claim}", reason,
            "its directory is written off in the ledger", risk=Risk.DATA_LOSS,
        )  # fmt: skip
    fresh = entry is None or entry.directory_id is None or lost is not None
    if fresh:
        yield _grant(now, group, node_id)
    seen = [] if fresh or entry is None else [
        each for each in now.observed.quorum.observers if (each.node_id, each.directory_id) == (node_id, entry.directory_id)
    ]  # fmt: skip
    if not any(each.caught_up for each in seen):
        gate = "it follows the leader and holds what was committed a look ago"
        yield PlanStep(f"catch-up/{node_id}", "CatchUp", f"controller {node_id}", "it copies the log first", gate)
    gate = "it has caught up, and with it a majority of the voters is live (L2)"
    yield PlanStep(
        f"add-voter/{node_id}", "AddVoter", f"voter {node_id}", "the resource asks for it", gate, "L2", Risk.NONE
    )


def _in_the_way(now: Situation, ledger: Ledger, node_id: int, lost: Entry | None) -> str | None:
    """The claim of a node whose volume is out of reach for good, or holds what was (or, of one that is lost, will be)
    written off.
    """
    claim = now.observed.claim(names.claim_name(now.cluster.name, now.cluster.spec.controllers.name, node_id))
    if claim is None or claim.terminating:
        return None
    given_up = [(each.pvc_uid, each.directory_id) for each in ledger.written_off if each.node_id == node_id]
    given_up += [(lost.pvc_uid, lost.directory_id)] if lost is not None and lost.directory_id else []
    if claim.uid not in {claimed for claimed, _ in given_up}:
        return None
    pod = now.observed.pod(node_id)
    report = pod.inspect if pod is not None and pod.gate_waits else None
    held = (
        report is not None
        and report.verdict is not Disk.EMPTY
        and report.directory_id in {each for _, each in given_up}
    )
    return claim.name if claim.volume in now.observed.stranded or held else None


# brokers


def _brokers(now: Situation, ledger: Ledger) -> Iterator[PlanStep]:
    yield from ahead_of_brokers(now)
    for pool in now.cluster.spec.broker_pools:
        for node_id in pool.node_ids:
            if not _has_directory(ledger, node_id):
                entry = ledger.entry(node_id)
                yield from discarded(now, entry) if entry is not None and entry.replaces is not None else ()
                yield _grant(now, pool, node_id)
    if ledger.formation is Formation.FORMED:
        for pool in now.cluster.spec.broker_pools:
            for node_id in _surplus(now, ledger, pool):
                yield from _leaving(now, ledger, pool, node_id)


def _drained(pool: Group) -> str:
    return "it holds no replica" + (", or what it holds is given up" if pool.scale_down.drain is Drain.FORCE else "")


def _surplus(now: Situation, ledger: Ledger, pool: Group) -> list[int]:
    """The highest first."""
    known = {entry.node_id for entry in ledger.entries if entry.pool == pool.name and not entry.retired}
    known |= {each.node_id for each in now.observed.sets if each.pool == pool.name}
    return sorted(known - set(pool.node_ids), reverse=True)


def _leaving(now: Situation, ledger: Ledger, pool: Group, node_id: int) -> Iterator[PlanStep]:
    name = names.node_name(now.cluster.name, pool.name, node_id)
    node_set, entry = now.observed.node_set(node_id), ledger.entry(node_id)
    registered = entry is not None and not entry.retired
    there = node_set is not None or any(each.node_id == node_id for each in now.nodes)  # or made anew: its volume grows
    forced = is_forced(ledger, node_id)
    if registered and not forced and (topics := (now.observed.brokers.replicas or {}).get(node_id)):
        yield later.moved(node_id, topics)
        if pool.scale_down.drain is Drain.FORCE:
            yield give_up(now, pool, node_id)
    if registered and there and (node_set is None or node_set.replicas or now.observed.pod(node_id) is not None):
        yield hold(node_id, name, "what it holds is given up" if forced else _drained(pool))
    if registered:
        gate = "it has shut down" if forced else f"{_drained(pool)}, and it has shut down"
        yield PlanStep(
            f"unregister/{node_id}", "UnregisterBroker", f"broker {node_id}", _unwanted(pool, node_id), gate,
            risk=Risk.AVAILABILITY,
        )  # fmt: skip
    if there:
        yield delete_node(node_id, name)


def _unwanted(pool: Group, node_id: int) -> str:
    return "the resource excludes it" if node_id in pool.excluded_node_ids else "the resource asks for fewer brokers"


# restarts


def _restarts(now: Situation, actions: Sequence[Action]) -> Iterator[PlanStep]:
    spec = now.cluster.spec
    if spec.lifecycle is not LifecycleState.RUNNING or spec.rollout.strategy is not RolloutStrategy.QUORUM_AWARE:
        return
    changing = set(_changing(now, actions))
    pods = {pod.node_id: pod for pod in outdated_pods(now.observed.pods, now.observed.sets)}
    pods |= {pod.node_id: pod for pod in now.observed.pods if pod.node_id in changing and not pod.terminating}
    for pod in sorted(pods.values(), key=lambda each: restart_order(each, now.observed.quorum.leader_id)):
        yield restart(pod)


def restart(pod: Pod) -> PlanStep:
    controller = pod.role == Role.CONTROLLER.value
    gate = (
        "the voter before it is live again, and without this one a majority is (L4)"
        if controller
        else "every other broker serves, and no partition is left with too few replicas in sync"
    )
    return PlanStep(
        f"restart/{pod.node_id}", "RestartPod", f"Pod/{pod.name}", "it runs an older revision", gate,
        "L4" if controller else "", Risk.AVAILABILITY,
    )  # fmt: skip


def _changing(now: Situation, actions: Sequence[Action]) -> Iterator[int]:
    """Nodes whose StatefulSet gets another template now, so that its pod is about to be outdated.

    A set that is being made anew around its pod (its volume grows) cannot be compared: its group's other sets tell.
    """
    live = {(each.kind, each.name): each.live for each in now.observed.children}
    groups, anew = set(), []
    for action in actions:
        if not isinstance(action, ApplyChild) or action.manifest["kind"] != "StatefulSet":
            continue
        meta = action.manifest["metadata"]
        node_id, group = int(meta["labels"][names.LABEL_NODE_ID]), meta["labels"][names.LABEL_POOL]
        before = live.get(("StatefulSet", meta["name"]))
        if before is None:
            anew.append((node_id, group))
        elif template_of(action.manifest) != template_of(before):
            groups.add(group)
            yield node_id
    yield from (node_id for node_id, group in anew if group in groups)


# rest


def _falling_asleep(now: Situation) -> Iterator[PlanStep]:
    """Brokers, followers, leader: as `hibernation` holds them."""
    leader = now.observed.quorum.leader_id
    sets = [each for each in now.observed.sets if each.replicas or now.observed.pod(each.node_id) is not None]
    for each in sorted(
        sets, key=lambda each: (each.role == Role.CONTROLLER.value, each.node_id == leader, each.node_id)
    ):
        gate = "" if each.role == Role.BROKER.value else "no broker is awake any more"
        last = each.node_id == leader and each.role == Role.CONTROLLER.value
        yield hold(each.node_id, each.name, "no follower is awake any more" if last else gate)
