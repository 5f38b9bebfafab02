"""Every kind of action, performed once at least in a story that leads to it: what the rules foresee of it (`after`) is
what the model of Kubernetes makes of it. Random histories (`test_forward_way`) seldom come so far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from kraft_operator.actions import Action, BeginReplacement, DeleteOperation, GiveUpDisk, TellRack
from kraft_operator.credentials import CredentialAction, EnterStage
from kraft_operator.operations.operation import parse_operation
from kraft_operator.removals import DropVolume, EmptyDirectory
from kraft_operator.users import UserAction
from support.operator_model.compared import compared_pass
from support.operator_model.world import World, pool

pytestmark = pytest.mark.properties

PASSES = 28
TWO_GIBIBYTES = [{**pool("b", 2, 100), "storage": {"size": "2Gi"}}]
ON_ANOTHER_CLASS = {"size": "1Gi", "overrides": [{"nodeID": 2, "storageClassName": "fast"}]}
NEWEST = {"policy": "FollowVersionAfterSoak", "soak": "1s"}
ELSEWHERE = {
    TellRack,
    DeleteOperation,
    BeginReplacement,
    GiveUpDisk,
    EmptyDirectory,
    DropVolume,
    EnterStage,
    *get_args(CredentialAction),
    *get_args(UserAction),
}
"""The world has no racks and no dates; of two others nothing can be seen, and Secrets and users are in runs of the
reconciler only (`test_secure_cluster`, `test_becoming_secure`, `test_users`). A volume that is taken from brokers is
compared in `test_volume_removal`.
"""

Act = Callable[[World], object]


def trust(world: World) -> None:
    world.trust("r", str(parse_operation(world.operations["r"]).status["verdict"]["hash"]))


def leave(world: World) -> None:
    world.serve_reassignment()
    world.finalized["metadata.version"] = 30
    world.place("t", 100, 102)
    world.place("t", 102, 100)


def lose_all_voters(world: World) -> None:
    """The brokers have copies of a log."""
    world.write_metadata()
    world.settle()
    for node_id in (0, 1, 2):
        world.delete_claim(node_id)


STORIES: dict[str, tuple[Act, ...]] = {
    "scaled and rolled": (
        lambda world: world.edit(controllers={**world.cluster.source["controllers"], "replicas": 5}),
        lambda world: world.edit(image={"repository": "kafka", "tag": "2"}),
    ),
    "grown": (lambda world: world.edit(brokerPools=TWO_GIBIBYTES),),
    "drained, and half of it taken back": (
        lambda world: world.edit(brokerPools=[pool("b", 3, 100)], image={"repository": "kafka", "tag": "2"}),
        leave,
        lambda world: world.edit(brokerPools=[pool("b", 2, 100)], image={"repository": "kafka", "tag": "2"}),
        lambda world: world.edit(brokerPools=[pool("b", 3, 100)], image={"repository": "kafka", "tag": "2"}),
    ),
    "made final": (lambda world: world.edit(metadataVersion=NEWEST, image={"repository": "kafka", "tag": "2"}),),
    "a whole broker's disk replaced": (lambda world: world.ask("b", "ReplaceBroker", 101),),
    "a voter moved to another class": (
        lambda world: world.edit(controllers={**world.cluster.source["controllers"], "storage": ON_ANOTHER_CLASS}),
        lambda world: world.ask("v", "ReplaceVoter", 2),
    ),
    "a claim that is being deleted protected": (
        lambda world: world.terminate(2),
        lambda world: world.ask("p", "ProtectClaims"),
    ),
    "a lost voter replaced": (lambda world: world.delete_claim(1),),
    "an endpoint corrected": (lambda world: world.drift(1),),
    "a quorum made anew of a broker's copy": (
        lose_all_voters,
        lambda world: world.ask("r", "RecoverQuorum"),
        trust,  # the verdict
    ),
}


def lived(story: tuple[Act, ...]) -> set[type]:
    world, kinds = World(), set()
    for act in (lambda _: None, *story):
        act(world)
        for _ in range(PASSES):
            kinds |= compared_pass(world)
    return kinds


def test_every_kind_of_action_does_what_the_rules_foresee() -> None:
    seen = {kind for story in STORIES.values() for kind in lived(story)}
    assert set(get_args(Action)) - seen == ELSEWHERE - seen
