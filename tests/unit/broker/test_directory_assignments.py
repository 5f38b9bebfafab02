"""What the controller is told of the homes of replicas: each once, the last word of it, so many in one request."""

from __future__ import annotations

import pytest

from controller_runtime.broker.directory_assignments import MAX_ASSIGNMENTS, DirectoryAssignments
from controller_runtime.identifiers import BrokerEpoch, Instant, NodeId, PartitionId, Uuid
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from support.nodes.broker_world import CONTROLLER
from support.nodes.controller_world import World, directory_of

pytestmark = pytest.mark.unit

BROKER = NodeId(1)
EPOCH = BrokerEpoch(5)
FIRST, SECOND = directory_of(BROKER, 8), directory_of(BROKER, 9)
MANY = MAX_ASSIGNMENTS + 700


class Story:
    def __init__(self) -> None:
        world = World()
        world.start_broker(BROKER)
        assert world.create("stock", MANY, 1).error_code == 0
        self.image = world.image
        self.assignments = DirectoryAssignments(BROKER, CallIds())
        topic = world.image.topics.ids["stock"]
        self.keys = [PartitionId(topic, index) for index in range(MANY)]

    def tell(self, now: float) -> dict[Uuid, int] | None:
        """How many replicas the request at this time reports of each directory; None: there is none."""
        for _ in range(200):
            for effect in self.assignments.poll(self.image, CONTROLLER, EPOCH, Instant(now)):
                if isinstance(effect, Call):
                    assert isinstance(effect.body, AssignReplicasToDirsRequest)
                    return {one.id: sum(len(t.partitions) for t in one.topics) for one in effect.body.directories}
            if self.assignments.next_deadline() != Instant(0.0):
                return None
        raise AssertionError("it never ends")


def test_a_request_names_as_many_as_kafkas_do_and_each_replica_once_where_it_is_now() -> None:
    """DIR-04."""
    story = Story()
    for key in story.keys:
        story.assignments.opened(key, FIRST)
    for key in story.keys[:100]:
        story.assignments.opened(key, SECOND)
    assert story.tell(0.0) == {FIRST: MAX_ASSIGNMENTS - 100, SECOND: 100}
    assert story.tell(0.1) is None, "one is on its way"


def test_what_the_image_does_not_show_is_told_again_after_a_while() -> None:
    """DIR-04: whether it was answered or not; who is no replica any more is not told of."""
    story = Story()
    for key in story.keys[:3]:
        story.assignments.opened(key, FIRST)
    story.assignments.opened(PartitionId(story.keys[0].topic_id, MANY + 1), FIRST)
    assert story.tell(0.0) == {FIRST: 3}
    story.assignments.done(Instant(1.0))
    assert story.tell(1.0) is None
    assert story.tell(2.0) == {FIRST: 3}
