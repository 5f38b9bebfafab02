"""What is given up when a broker is forced out, said before it happens, and what is missing afterwards.

A partition is lost with a broker when no other replica of it is in sync. Which these are is known only from the
brokers' own metadata; a topic of which that says nothing counts whole. The ledger remembers who was forced out until
every partition has a leader again, so that nobody has to remember it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from kraft_operator.api.spec import Drain, Group
from kraft_operator.ledger import GivenUp, Ledger, StepKind
from kraft_operator.observed import Placement
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.steps import NOTHING_TO_SPARE, PlanStep, Risk

SHOWN: Final = 20
"""Partitions that are named; the others are counted."""
EVERYTHING: Final = ("everything that it held",)
"""What is lost with a broker when no other one is left that could say."""
FORCED: Final = "forced"
"""Marks the journaled end of a broker whose replicas were given up."""
LOSING: Final = "give-up"
_DRAIN: Final = "drain broker "
COPIES: Final = "give-up-copies"
"""Kinds of step: with data, or only with copies of what others have. Who approved the one has not approved
the other.
"""


def only_copies(now: Situation, node_id: int) -> tuple[str, ...]:
    """Partitions (whole topics where nothing more is known) of which no other replica is in sync."""
    brokers = now.observed.brokers
    found, told = [], set()
    for each in brokers.partitions or ():
        told.add(each.topic)
        if node_id in each.replicas and not set(each.in_sync or ()) - {node_id}:
            found.append(f"{each.topic}-{each.partition}")
    return (*found, *(topic for topic in (brokers.replicas or {}).get(node_id, ()) if topic not in told))


def give_up(now: Situation, pool: Group, node_id: int) -> PlanStep:
    """The step of a drain that may end by force. While nobody can say what is lost by it, its id stays that of copies:
    an approval of it is none for data.
    """
    unknown = now.observed.brokers.partitions is None
    only = () if unknown else only_copies(now, node_id)
    announced = {each.id for each in now.published.ahead}
    losing = bool(only) or f"{LOSING}/{node_id}" in announced
    reason = f"scaleDown.drain is Force: {_what_goes(now, node_id, only)}"
    kind, risk = (LOSING if losing else COPIES), Risk.DATA_LOSS if losing or unknown else Risk.AVAILABILITY
    gate = f"its replicas could not be moved within scaleDown.timeout ({pool.scale_down.timeout_seconds:g} s)"
    return PlanStep(f"{kind}/{node_id}", "GiveUpReplicas", f"broker {node_id}", reason, gate, risk=risk)


def _what_goes(now: Situation, node_id: int, only: tuple[str, ...]) -> str:
    if now.observed.brokers.partitions is None:
        return "what it holds is given up, and no broker says now whether every partition has another replica in sync"
    if only:
        one = len(only) == 1
        return f"{named(only)} {'has' if one else 'have'} no other replica in sync and {'is' if one else 'are'} lost"
    held = ", ".join((now.observed.brokers.replicas or {}).get(node_id, ()))
    return f"replicas of {held} are given up, every partition has another one in sync"


def is_forced(ledger: Ledger, node_id: int) -> bool:
    step = ledger.step(StepKind.UNREGISTER, node_id)
    return step is not None and FORCED in step.preconditions


def given_up(now: Situation, ledger: Ledger, node_id: int) -> Ledger:
    """The decision, written down with what goes."""
    only = only_copies(now, node_id)
    others = tuple(each for each in ledger.given_up if each.node_id != node_id)
    return replace(ledger, given_up=(*others, GivenUp(node_id, only[:SHOWN], max(0, len(only) - SHOWN))))


def tell_leaderless(now: Situation) -> Verdict:
    """Partitions that have had no leader since their broker was forced out, or lost its disk; once there are none,
    nothing is left to be said.
    """
    ledger, brokers = now.ledger, now.observed.brokers
    if ledger is None or not ledger.given_up:
        return NOTHING
    wanted = {node_id for group in now.cluster.spec.groups for node_id in group.node_ids}
    kept = tuple(each for each in ledger.given_up if each.lost == (each.node_id in wanted))
    if brokers.partitions is None:
        return Verdict(ledger=replace(ledger, given_up=kept))
    findings: list[Finding] = []
    for lost in (False, True):
        gone = {each.node_id for each in kept if each.lost is lost}
        mine = [
            each for each in brokers.partitions if gone & set(each.replicas) and (not lost or _was_given_up(each, kept))
        ]
        leaderless = tuple(f"{each.topic}-{each.partition}" for each in mine if each.leader == -1)
        if leaderless:
            findings.append(_leaderless(gone, leaderless, lost=lost))
        elif not any(each.leader in gone for each in mine if not lost) and not _unsettled(now, ledger, gone, lost=lost):
            kept = tuple(each for each in kept if each.lost is not lost)
    return Verdict(ledger=replace(ledger, given_up=kept), findings=tuple(findings))


def _was_given_up(placed: Placement, lost: tuple[GivenUp, ...]) -> bool:
    """Where not all were named, every partition of the broker may be meant."""
    names = {f"{placed.topic}-{placed.partition}", placed.topic}
    return any(
        each.node_id in placed.replicas and (each.more or each.only == EVERYTHING or names & set(each.only))
        for each in lost
    )


def _unsettled(now: Situation, ledger: Ledger, gone: set[int], *, lost: bool) -> bool:
    """Whether what is given up may still have a leader because it is not gone yet, or none because the new disk does
    not serve yet.
    """
    if not lost:
        return any(now.observed.pod(node_id) is not None or is_forced(ledger, node_id) for node_id in gone)
    brokers = now.observed.brokers
    serving = (brokers.registered or frozenset()) - (brokers.fenced or frozenset())
    entries = {node_id: ledger.entry(node_id) for node_id in gone}
    return any(entry is None or entry.directory_id is None for entry in entries.values()) or not gone <= serving


def _leaderless(gone: set[int], partitions: tuple[str, ...], *, lost: bool) -> Finding:
    who = ", ".join(map(str, sorted(gone)))
    what = f"{named(partitions)} {'has' if len(partitions) == 1 else 'have'} no leader"
    why = (
        "delete these topics, or let an empty replica lead (kafka-leader-election.sh --election-type unclean): "
        f"{what}, because the disk of broker {who} was lost with the only replica in sync"
        if lost
        else (
            f"raise the pool's replicas again to have broker {who} and its volume back, or delete these topics: "
            f"{what}, because the broker was forced out (scaleDown.drain: Force)"
        )
    )
    return Finding(Topic.MEMBERSHIP, "PartitionsWithoutLeader", why, f"broker {who}", stalled=True)


def named(partitions: tuple[str, ...]) -> str:
    more = len(partitions) - SHOWN
    return ", ".join(partitions[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def draining(node_id: int) -> str:
    """The suspicion that this broker's replicas do not leave it in time."""
    return f"{_DRAIN}{node_id}"


def waits_for_the_plan(suspicion: str) -> bool:
    """A drain's time begins when its plan may begin."""
    return suspicion.startswith(_DRAIN)


def may_be_given_up(now: Situation, suspects: Collection[str]) -> Iterator[PlanStep]:
    """Of brokers that are being drained: what is given up if that does not end in time."""
    for each in sorted(filter(waits_for_the_plan, suspects)):
        node_id = int(each.removeprefix(_DRAIN))
        entry = now.ledger.entry(node_id) if now.ledger is not None else None
        pool = now.cluster.spec.group(entry.pool) if entry is not None else None
        if pool is not None and pool.scale_down.drain is Drain.FORCE:
            yield give_up(now, pool, node_id)


def asked_for_fewer(wanted: int) -> str:
    """Why a controller goes, and what that leaves."""
    left = {
        1: f"; with one controller its disk is the only copy of the metadata, and no voter {NOTHING_TO_SPARE}",
        2: f"; of two controllers none {NOTHING_TO_SPARE}",
    }
    return f"the resource asks for fewer controllers{left.get(wanted, '')}"
