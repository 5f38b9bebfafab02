"""The operator's own model of an action beside what the model of Kubernetes makes of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kraft_operator.actions import Action, AddVoter, DeliverGrant, RemoveVoter, UpdateVoter
from kraft_operator.observed import Observed
from kraft_operator.operations.operation_report import status_of
from kraft_operator.plan.outline.after import changed
from support.operator_model.world import World


def view(seen: Observed, known: frozenset[str], asked: Collection[int] = ()) -> dict[str, object]:
    """What actions change by themselves, as far as it could be asked for. Services are left out: Kubernetes adds ports
    of its own. Nobody knows beforehand how a volume that is not `known` will be called.
    """
    cordoned = {each for each, closed in seen.brokers.cordoned.items() if closed}
    return {
        "children": {(each.kind, each.name): each.live for each in seen.children if each.kind != "Service"},
        "sets": {each.node_id: replace(each, uid="") for each in seen.sets},
        "pods": {each.uid: (each.node_id, each.grant_nonce, dict(each.grants), each.nudges) for each in seen.pods},
        "claims": {
            each.name: (each.volume if each.volume in known else "new", dict(each.identity), each.requested)
            for each in (*seen.claims, *seen.further_claims)
        },
        "retained": seen.retained,
        "voters": sorted(each.key for each in seen.quorum.voters),
        "registered": seen.brokers.registered,
        "cordoned": cordoned,
        "directories": {each: seen.brokers.directories[each] for each in asked},
        "moving": seen.brokers.moving,
        "finalized": seen.brokers.registry.finalized,
        "operations": sorted(each.name for each in seen.operations),
        "helpers": sorted(each.name for each in seen.helpers),
    }


def compare(world: World, action: Action) -> None:
    before = world.observed()
    world.perform(action)
    seen, expected = world.observed(), changed(before, action)
    refused = isinstance(action, RemoveVoter | AddVoter | UpdateVoter) and world.leader() < 0
    if not refused and bool(before.quorum.voters) == bool(seen.quorum.voters):
        known = before.volumes | {each.volume for each in before.claims}
        asked = seen.brokers.directories.keys() & expected.brokers.directories.keys()
        assert {"action": action} | view(seen, known, asked) == {"action": action} | view(expected, known, asked)


def compared_pass(world: World) -> set[type]:
    """A pass of the operator, another one if a guard has not read its grant yet, and a step of every node; returns
    which kinds of action were compared."""
    found = _compared(world)
    if DeliverGrant in found:
        found |= _compared(world)
    world.kubelet()
    return found


def _compared(world: World) -> set[type]:
    decision = world.plan()
    for action in decision.actions:
        compare(world, action)
    for told in decision.reports:
        world.operations[told.operation.name]["status"] = status_of(told, str(world.clock))
    return {type(each) for each in decision.actions}
