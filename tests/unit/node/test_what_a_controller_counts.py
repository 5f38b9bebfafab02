"""What metrics are told of operations: decided, refused because too much waits, and snapshots that could not be
written.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.node.active import pending
from controller_runtime.node.quorum.events import SnapshotGivenUp
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import World
from support.nodes.lone_controller import CLUSTER_ID, LoneController

pytestmark = pytest.mark.unit


def ask(controller: LoneController, body: Message, version: int) -> None:
    assert body.KEY is not None
    connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
    controller.feed(RequestReceived(RequestId(7), connection, body.KEY, version, None, body))


def test_operations_are_counted_when_they_are_decided_and_when_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = LoneController()
    controller.run(2)
    counters = controller.controller.counters
    before = counters.operations
    ask(controller, BrokerHeartbeatRequest(broker_id=5), 1)
    ask(controller, DeleteTopicsRequest(), 6)
    assert (counters.operations - before, counters.refused_operations) == (2, 0)
    monkeypatch.setattr(pending, "MAX_PENDING", 0)
    ask(controller, BrokerHeartbeatRequest(broker_id=5), 1)
    ask(controller, DeleteTopicsRequest(), 6)
    assert counters.operations - before == 2
    assert (counters.refused_operations, counters.refused_heartbeats) == (2, 1)


def test_a_heartbeat_that_is_refused_for_lack_of_room_is_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLU-10."""
    controller = LoneController()
    controller.run(2)
    registration = World().registration(5, cluster_id=CLUSTER_ID)
    ask(controller, registration, 4)
    controller.run(1)
    broker = controller.node.image.cluster.brokers[NodeId(5)]
    beat = BrokerHeartbeatRequest(broker_id=5, broker_epoch=broker.epoch, current_metadata_offset=1 << 40)
    ask(controller, beat, 1)
    controller.run(1)
    assert not controller.node.image.cluster.brokers[NodeId(5)].fenced
    monkeypatch.setattr(pending, "MAX_PENDING", 0)
    for _ in range(5):
        controller.run(6)
        controller.outgoing.clear()
        ask(controller, beat, 1)
        (refused,) = controller.outgoing
        assert refused.body.error_code == 41  # type: ignore[union-attr]
    assert not controller.node.image.cluster.brokers[NodeId(5)].fenced
    controller.run(20)
    assert controller.node.image.cluster.brokers[NodeId(5)].fenced


def test_a_snapshot_that_could_not_be_written_is_counted() -> None:
    controller = LoneController(snapshots=SnapshotConfig(max_new_bytes=500))
    controller.holds_snapshots = True
    controller.run(30)
    (asked,) = controller.held
    controller.held.clear()
    controller.feed(SnapshotGivenUp(asked.snapshot_id, "the disk is full"))
    assert controller.node.upkeep.keeper.failures == 1
