"""Brokers that lost their disk, replaced as voters are: after the same proof (`voters.loss`), which has to stand for
the same time.

A broker that comes back empty under its old id copies everything anew, unless it is elected first. It is never elected
for a partition in which another replica is in sync and it is not. So its directory is written off only once it is
fenced and that is so for every partition it has a replica of: nothing is lost then that was not lost with the disk. A
partition of which nobody else is in sync would begin empty; that needs the approval of a plan that names these
partitions, in every mode. A whole disk is replaced on request only: its broker is stopped first, and comes back if
others fell out of sync meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kraft_operator.actions import BeginReplacement, GiveUpDisk
from kraft_operator.api.combined import broker_ids
from kraft_operator.api.roles import controls, serves
from kraft_operator.api.spec import LifecycleState, LostDisk
from kraft_operator.ledger import Entry, Formation, GivenUp, Ledger, removed
from kraft_operator.observed import QuorumState
from kraft_operator.plan.giving_up import EVERYTHING, SHOWN, named, only_copies
from kraft_operator.plan.operating.running import broker_to_replace
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.steps import PlanStep, Risk, digest
from kraft_operator.plan.voters.loss import OF_BROKER, Loss, loss_of, written_off
from kraft_operator.plan.wording import called

REPLACE: Final = "replace-broker"
GIVE_UP_DISK: Final = "give-up-disk"
"""Kinds of step: without and with data of which nobody else has a replica in sync."""


@dataclass(frozen=True, slots=True)
class Stake:
    """What is lost with a broker's disk: partitions, or `EVERYTHING`."""

    only: tuple[str, ...] = ()

    def step(self, entry: Entry, why: str) -> PlanStep:
        """An approval of it holds for this directory and for these partitions."""
        assert entry.directory_id is not None
        if not self.only:
            return replaced(entry.node_id, entry.directory_id, why)
        mark = digest(entry.directory_id, *self.only)[:12]
        step_id = f"{GIVE_UP_DISK}/{entry.node_id}/{mark}"
        return given_up(entry.node_id, entry.directory_id, step_id, f"{why}; {self.text} lost")

    @property
    def text(self) -> str:
        return f"{named(self.only)} {'is' if len(self.only) == 1 else 'are'}"


def replaced(node_id: int, directory_id: str, why: str) -> PlanStep:
    gate = "it is fenced, and of every partition that it held another replica is in sync"
    target = f"broker {node_id} {directory_id}"
    return PlanStep(f"{REPLACE}/{node_id}/{directory_id}", "ReplaceBroker", target, why, gate)


def given_up(node_id: int, directory_id: str, step_id: str, why: str) -> PlanStep:
    gate = "this plan is approved; no other replica is in sync"
    return PlanStep(step_id, "ReplaceBroker", f"broker {node_id} {directory_id}", why, gate, risk=Risk.DATA_LOSS)


def replace_lost_brokers(now: Situation) -> Verdict:
    """What is lost is written off when nothing more is lost by that, or when its loss was approved; a new disk is
    granted afterwards.
    """
    ledger = now.ledger
    if (
        ledger is None
        or ledger.formation is not Formation.FORMED
        or now.cluster.spec.lifecycle is not LifecycleState.RUNNING
    ):
        return NOTHING
    verdict = _forget_retired(now, ledger)
    for entry, loss in _losses(now, ledger).items():
        if not controls(entry):
            verdict = _with_loss(now, verdict, entry, loss)
    asked = _asked_whole(now, ledger)
    return verdict if asked is None else _joined(verdict, _replace_whole(now, verdict, asked))


def weighs_losses(suspects: Collection[str]) -> bool:
    """Whether an earlier plan needs to know what a broker held that lost its disk."""
    return any(each.startswith(OF_BROKER) for each in suspects)


def announces_loss(step: PlanStep, entry: Entry) -> bool:
    """Whether this step of a published plan takes the disk of `entry` as lost."""
    kind, _, rest = step.id.partition("/")
    return rest == f"{entry.node_id}/{entry.directory_id}" or (
        kind == GIVE_UP_DISK and entry.directory_id is not None and rest.startswith(f"{entry.node_id}/")
    )


def needs_approval(steps: Sequence[PlanStep]) -> bool:
    """Whether a plan has to be approved in every mode: data goes that no person has asked to give up."""
    return any(each.id.startswith(f"{GIVE_UP_DISK}/") for each in steps)


def at_stake(now: Situation, node_id: int) -> Stake | str:
    """What would be lost if the broker came back empty now; or, in words, why that is not known yet."""
    brokers, quorum = now.observed.brokers, now.observed.quorum
    if quorum.state is not QuorumState.AVAILABLE:
        return f"the quorum is {quorum.state.value}: {quorum.detail}"
    if brokers.registered is None or brokers.partitions is None or brokers.replicas is None:
        left = _others_with_a_disk(now, node_id)
        if not left:
            return Stake(EVERYTHING)
        return f"what it held is known once {called('broker', left)} can be asked"
    if node_id in brokers.registered and node_id not in (brokers.fenced or frozenset()):
        return "the controllers have not fenced it"
    in_sync = next((each for each in brokers.partitions if node_id in each.in_sync and len(each.in_sync) > 1), None)
    if in_sync is not None:
        return f"the controllers still count it in sync for {in_sync.topic}-{in_sync.partition}"
    return Stake(only_copies(now, node_id))


# lost disks


def _losses(now: Situation, ledger: Ledger) -> dict[Entry, Loss]:
    """Of brokers that the resource wants, combined nodes too; of one that has to leave, `drain` speaks."""
    wanted = broker_ids(now.cluster.spec)
    running = broker_to_replace(now)
    found = {}
    for entry in ledger.entries:
        if not serves(entry) or entry.directory_id is None or entry.node_id not in wanted:
            continue
        if entry.node_id == ledger.node_made_anew:
            continue
        loss = loss_of(entry, now.observed, now.cluster.spec.recovery.node_gone, ledger.written_off)
        if loss is not None:
            by_name = running is not None and (running.node_id, running.directory_id) == (
                entry.node_id,
                entry.directory_id,
            )
            found[entry] = replace(loss, asked=by_name)
    return found


def _with_loss(now: Situation, so_far: Verdict, entry: Entry, loss: Loss) -> Verdict:
    assert so_far.ledger is not None
    policy, key, spoken = now.cluster.spec.recovery, loss.key(entry), frozenset({entry.node_id})
    if loss.blocked is not None:
        answer = _verdict("DiskSuspect", entry, f"{loss.blocked}: {loss.text}", stalled=not loss.may_end)
        return _joined(so_far, replace(answer, suspects=frozenset({key})))
    if policy.lost_disk is LostDisk.REPORT and not loss.asked:
        remedy = (
            "put its volume back, or set spec.recoveryPolicy.lostDisk to Replace or create a KRaftOperation "
            "ReplaceBroker to have the broker replaced"
        )
        answer, spoken = _verdict("DiskLost", entry, f"{remedy}: {loss.text}", stalled=True), frozenset()
    elif now.waited.get(key, 0.0) < policy.debounce_seconds and not loss.asked:
        answer = _verdict(
            "DiskSuspect",
            entry,
            f"it counts as lost after {policy.debounce_seconds:g} s, unless its volume comes back: {loss.text}",
        )
    else:
        answer = _give_up(now, so_far.ledger, entry, loss)
    return _joined(so_far, replace(answer, suspects=frozenset({key}), replacing=spoken))


def given_up_with(now: Situation, ledger: Ledger, entry: Entry, loss: Loss) -> Verdict:
    """What the partitions on a lost disk let be done: it is written off, or (without a ledger) it may not go yet, and
    why. Of a combined node this is what its other half asks (`voters.membership.EndOf`), whose disk goes once."""
    stake = at_stake(now, entry.node_id)
    if not isinstance(stake, Stake):
        return _verdict("DiskLost", entry, f"it is not replaced yet, because {stake}: {loss.text}")
    step = stake.step(entry, loss.text)
    if stake.only and not _approved(now, step):
        text = (
            f"put the volume back, or approve the plan that gives it up: {stake.text} lost with it, because no "
            f"other replica is in sync ({loss.text})"
        )
        return _verdict("DataLossPending", entry, text, stalled=True)
    ledger = written_off(ledger, entry)
    ledger = _with_what_is_lost(ledger, entry, stake) if stake.only else ledger
    return Verdict(ledger=ledger, actions=(_given_up(entry, step),))


def _give_up(now: Situation, ledger: Ledger, entry: Entry, loss: Loss) -> Verdict:
    end = given_up_with(now, ledger, entry, loss)
    if end.ledger is None:
        return end
    stake = at_stake(now, entry.node_id)
    assert isinstance(stake, Stake), f"{entry.node_id} is given up though {stake}"
    step = stake.step(entry, loss.text)
    approved = _approved(now, step)
    room = now.brake.gate(now.cluster.uid, entry.directory_id or "")
    if now.brake.limit and not (loss.asked or approved):
        if not room.open:
            return _verdict("ReplacementDeferred", entry, f"{room.text}; {loss.text}", deferred=True)
        if not now.brake.knows(now.cluster.uid, entry.directory_id or ""):
            begins = BeginReplacement(entry.node_id, entry.directory_id or "", step.reason)
            return replace(
                _verdict("ReplacingBroker", entry, f"nothing to do, its replacement begins: {loss.text}"),
                actions=(begins,),
            )
    answer = _verdict(
        "ReplacingBroker", entry, f"nothing to do, its directory is written off and it gets a new disk: {loss.text}"
    )
    return replace(answer, ledger=end.ledger, actions=end.actions)


def _given_up(entry: Entry, step: PlanStep) -> GiveUpDisk:
    assert entry.directory_id is not None
    return GiveUpDisk(entry.node_id, entry.directory_id, step.id, step.reason)


def _with_what_is_lost(ledger: Ledger, entry: Entry, stake: Stake) -> Ledger:
    others = tuple(each for each in ledger.given_up if each.node_id != entry.node_id)
    gone = GivenUp(entry.node_id, stake.only[:SHOWN], max(0, len(stake.only) - SHOWN), lost=True)
    return replace(ledger, given_up=(*others, gone))


def _approved(now: Situation, step: PlanStep) -> bool:
    """The plan that was shown held exactly this step, and somebody named that plan."""
    plan = now.published
    return now.foreseen or (
        bool(plan.hash) and now.cluster.approve == plan.hash and any(each.id == step.id for each in plan.ahead)
    )


def _others_with_a_disk(now: Situation, node_id: int) -> list[int]:
    """Brokers that may still know what this one held."""
    assert now.ledger is not None
    lost = {entry.node_id for entry, loss in _losses(now, now.ledger).items() if loss.blocked is None}
    return [
        entry.node_id
        for entry in now.ledger.entries
        if serves(entry)
        and entry.directory_id is not None
        and not entry.retired
        and entry.node_id not in {*lost, node_id}
    ]


def _forget_retired(now: Situation, ledger: Ledger) -> Verdict:
    """A broker that left holding nothing, and whose claim is gone: its id may be used again, with a new disk."""
    given_up = {each.node_id for each in ledger.given_up}
    claims = {each.uid for each in now.observed.claims}
    suspects = set()
    for entry in ledger.entries:
        if controls(entry) or not entry.retired or entry.directory_id is None or entry.pvc_uid in claims:
            continue
        loss = loss_of(entry, now.observed)
        if loss is None or loss.blocked is not None or entry.node_id in given_up:
            continue
        suspects.add(f"retired {loss.key(entry)}")
        if now.waited.get(f"retired {loss.key(entry)}", 0.0) >= now.cluster.spec.recovery.debounce_seconds:
            ledger = written_off(ledger, entry)
            ledger = ledger.with_entry(removed(entry, entry.directory_id))
    return Verdict(ledger=ledger, suspects=frozenset(suspects))


# whole disks


def _asked_whole(now: Situation, ledger: Ledger) -> Entry | None:
    """The broker that a ReplaceBroker names and whose disk is not lost."""
    running = broker_to_replace(now)
    entry = ledger.entry(running.node_id) if running is not None and running.node_id is not None else None
    if running is None or entry is None or entry.directory_id is None or entry.directory_id != running.directory_id:
        return None
    return entry if entry not in _losses(now, ledger) else None


def _replace_whole(now: Situation, so_far: Verdict, entry: Entry) -> Verdict:
    """Stopped while others have all that it has; written off once that is still so and the cluster counts on it no
    more.
    """
    assert so_far.ledger is not None
    pod, node_set = now.observed.pod(entry.node_id), now.observed.node_set(entry.node_id)
    stopped = pod is None and node_set is not None and node_set.replicas == 0
    if (why := _may_not_stop(now, entry.node_id)) is not None:
        back = "it comes back" if stopped else "it runs on"
        return _verdict("ReplacingBroker", entry, f"{back}, because {why}: {_wish(now)}")
    held = tuple(replace(each, held=True) if each.node_id == entry.node_id else each for each in now.nodes)
    stake = at_stake(now, entry.node_id)
    if not stopped or not isinstance(stake, Stake):
        why = f", and still {stake}" if stopped and not isinstance(stake, Stake) else ""
        return replace(_verdict("ReplacingBroker", entry, f"it is stopped first{why}: {_wish(now)}"), nodes=held)
    answer = _verdict("ReplacingBroker", entry, f"its directory is written off and it gets a new disk: {_wish(now)}")
    action = _given_up(entry, stake.step(entry, _wish(now)))
    return replace(answer, ledger=written_off(so_far.ledger, entry), actions=(action,))


def _may_not_stop(now: Situation, node_id: int) -> str | None:
    brokers, pod = now.observed.brokers, now.observed.pod(node_id)
    if brokers.partitions is None or brokers.at_risk is None:
        return "no broker answers what it holds"
    if only := only_copies(now, node_id):
        return f"no other replica of {named(only)} is in sync"
    if pod is not None and (risk := brokers.at_risk.get(node_id, ())):
        return f"{', '.join(risk)} would have too few replicas in sync"
    return None


def _wish(now: Situation) -> str:
    running = broker_to_replace(now)
    return f"KRaftOperation {running.name if running else '-'} asks for another disk in its place"


def _verdict(reason: str, entry: Entry, text: str, *, stalled: bool = False, deferred: bool = False) -> Verdict:
    told = f"broker {entry.node_id}: {text}"
    return Verdict(
        findings=(
            Finding(Topic.STORAGE, reason, told, subject=f"broker {entry.node_id}", stalled=stalled, deferred=deferred),
        )
    )


def _joined(one: Verdict, other: Verdict) -> Verdict:
    return replace(
        one,
        ledger=other.ledger or one.ledger,
        nodes=other.nodes if other.nodes is not None else one.nodes,
        actions=one.actions + other.actions,
        findings=one.findings + other.findings,
        suspects=one.suspects | other.suspects,
        replacing=one.replacing | other.replacing,
    )
