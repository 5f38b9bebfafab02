"""What is given up when a broker is forced out, said before it happens, and what is missing afterwards.

A partition is lost with a broker when no other replica of it is in sync. Which these are is known only from the brokers' own metadata; a topic of which that
says nothing counts whole. The ledger remembers who was forced out until every partition has a leader again, so that nobody has to remember it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kraft_operator.api.spec import Group
from kraft_operator.ledger import GivenUp, Ledger, StepKind
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.steps import NOTHING_TO_SPARE, PlanStep, Risk

SHOWN: Final = 20
"""Partitions that are named; the others are counted."""
FORCED: Final = "forced"
"""Marks the journaled end of a broker whose replicas were given up."""
LOSING: Final = "give-up"
COPIES: Final = "give-up-copies"
"""Kinds of step: with data, or only with copies of what others have. Who approved the one has not approved the other."""


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
    """The step of a drain that may end by force."""
    only = only_copies(now, node_id)
    announced = {each.id for each in now.published.ahead}
    losing = bool(only) or f"{LOSING}/{node_id}" in announced
    held = ", ".join((now.observed.brokers.replicas or {}).get(node_id, ()))
    reason = (
        f"scaleDown.drain is Force: {named(only)} {'has' if len(only) == 1 else 'have'} no other replica in sync and {'is' if len(only) == 1 else 'are'} lost"
        if only
        else f"scaleDown.drain is Force: replicas of {held} are given up, every partition has another one in sync"
    )
    kind, risk = (LOSING, Risk.DATA_LOSS) if losing else (COPIES, Risk.AVAILABILITY)
    gate = f"its replicas could not be moved within scaleDown.timeout ({pool.scale_down.timeout_seconds:g} s)"
    return PlanStep(f"{kind}/{node_id}", "GiveUpReplicas", f"broker {node_id}", reason, gate, risk=risk)


def is_forced(ledger: Ledger, node_id: int) -> bool:
    step = ledger.step(StepKind.UNREGISTER, node_id)
    return step is not None and FORCED in step.preconditions


def given_up(now: Situation, ledger: Ledger, node_id: int) -> Ledger:
    """The decision, written down with what goes."""
    only = only_copies(now, node_id)
    others = tuple(each for each in ledger.given_up if each.node_id != node_id)
    return replace(ledger, given_up=(*others, GivenUp(node_id, only[:SHOWN], max(0, len(only) - SHOWN))))


def tell_leaderless(now: Situation) -> Verdict:
    """Partitions that have had no leader since their broker was forced out; once there are none, nothing is left to be said."""
    ledger, brokers = now.ledger, now.observed.brokers
    if ledger is None or not ledger.given_up:
        return NOTHING
    wanted = {node_id for group in now.cluster.spec.groups for node_id in group.node_ids}
    kept = tuple(each for each in ledger.given_up if each.node_id not in wanted)
    ledger = replace(ledger, given_up=kept)
    if brokers.partitions is None or not kept:
        return Verdict(ledger=ledger)
    gone = {each.node_id for each in kept}
    mine = [each for each in brokers.partitions if gone & set(each.replicas)]
    leaderless = tuple(f"{each.topic}-{each.partition}" for each in mine if each.leader == -1)
    still_there = any(now.observed.pod(node_id) is not None or is_forced(ledger, node_id) for node_id in gone)
    if not leaderless:
        settled = still_there or any(each.leader in gone for each in mine)
        return Verdict(ledger=ledger if settled else replace(ledger, given_up=()))
    who = ", ".join(map(str, sorted(gone)))
    message = (
        f"{named(leaderless)} {'has' if len(leaderless) == 1 else 'have'} no leader: what broker {who} held was given up (scaleDown.drain: Force); its volume "
        "is still there: raise the pool's replicas again to have it back, or delete these topics"
    )
    return Verdict(
        ledger=ledger,
        findings=(Finding(Topic.MEMBERSHIP, "PartitionsWithoutLeader", message, f"broker {who}", stalled=True),),
    )


def named(partitions: tuple[str, ...]) -> str:
    more = len(partitions) - SHOWN
    return ", ".join(partitions[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def waits_for_the_plan(suspicion: str) -> bool:
    """A drain's time begins when its plan may begin."""
    return suspicion.startswith("drain broker ")


def asked_for_fewer(wanted: int) -> str:
    """Why a controller goes, and what that leaves."""
    left = {
        1: f"; with one controller its disk is the only copy of the metadata, and no voter {NOTHING_TO_SPARE}",
        2: f"; of two controllers none {NOTHING_TO_SPARE}",
    }
    return f"the resource asks for fewer controllers{left.get(wanted, '')}"
