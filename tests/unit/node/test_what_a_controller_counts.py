"""What metrics are told of operations: decided, refused because too much waits, and snapshots that could not be written."""

from __future__ import annotations

import pytest

from controller_runtime.node import pending
from controller_runtime.node.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived, SnapshotGivenUp
from controller_runtime.node.snapshots import SnapshotConfig
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.schema import Message
from support.lone_controller import LoneController

pytestmark = pytest.mark.unit


def ask(controller: LoneController, body: Message, version: int) -> None:
    assert body.KEY is not None
    connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
    controller.feed(RequestReceived(RequestId(7), connection, body.KEY, version, None, body))


def test_operations_are_counted_when_they_are_decided_and_when_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = LoneController()
    controller.run(2)
    counters = controller.node.counters
    before = counters.operations
    ask(controller, BrokerHeartbeatRequest(broker_id=5), 1)
    ask(controller, DeleteTopicsRequest(), 6)
    assert (counters.operations - before, counters.refused_operations) == (2, 0)
    monkeypatch.setattr(pending, "MAX_PENDING", 0)
    ask(controller, BrokerHeartbeatRequest(broker_id=5), 1)
    ask(controller, DeleteTopicsRequest(), 6)
    assert counters.operations - before == 2
    assert (counters.refused_operations, counters.refused_heartbeats) == (2, 1)


def test_a_snapshot_that_could_not_be_written_is_counted() -> None:
    controller = LoneController(snapshots=SnapshotConfig(max_new_bytes=500))
    controller.holds_snapshots = True
    controller.run(30)
    (asked,) = controller.held
    controller.held.clear()
    controller.feed(SnapshotGivenUp(asked.snapshot_id, "the disk is full"))
    assert controller.node.keeper.failures == 1
