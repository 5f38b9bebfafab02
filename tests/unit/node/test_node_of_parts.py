"""A node is its parts: each event finds its own, a step takes events of any kind, and the last part leaves first."""

from __future__ import annotations

from typing import get_args

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.node.events import NodeEvent
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    CallId,
    ConnectionId,
    ConnectionInfo,
    RequestId,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    TimePassed,
)
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from support.apache_kafka.probes import Quorum
from support.nodes.frame_hosts import BROKER_LISTENER, CONTROLLER_LISTENER, Host, Line, Town, frame
from support.nodes.lone_controller import LoneController
from support.nodes.strangers import begin
from support.simulation.fleet import Fleet

pytestmark = pytest.mark.unit

THREE = (NodeId(1), NodeId(2), NodeId(3))
CONNECTION = ConnectionInfo(ConnectionId(1), CONTROLLER_LISTENER)
ROUTED = {RequestReceived, ResponseReceived, CallFailed, ShutdownRequested}


def served(*kinds: str) -> Town:
    town = Town(*kinds)
    town.until("everybody serves", 60, lambda: all(host.serves for host in town.hosts))
    return town


def change(number: int, value: str) -> RequestReceived:
    config = AlterableConfig(name="log.cleanup.policy", config_operation=0, value=value)
    body = IncrementalAlterConfigsRequest(
        resources=(AlterConfigsResource(resource_type=4, resource_name="", configs=(config,)),)
    )
    return RequestReceived(RequestId(number), CONNECTION, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, "client", body)


def test_the_roles_are_parts_and_nothing_else_differs() -> None:
    names = {
        kind: [part.NAME for part in Host(Town(), kind).node.parts] for kind in ("controller", "broker", "combined")
    }
    assert names == {
        "controller": ["quorum", "controller", "upkeep", "settings"],
        "broker": ["quorum", "upkeep", "settings", "broker"],
        "combined": ["quorum", "controller", "upkeep", "settings", "broker"],
    }


def test_every_kind_of_event_is_for_one_part() -> None:
    parts = Host(Town(), "combined").node.parts
    hearers = {kind: [part.NAME for part in parts if kind in part.HEARS] for kind in get_args(NodeEvent)}
    assert {kind for kind, heard_by in hearers.items() if not heard_by} == ROUTED
    assert all(len(heard_by) <= 1 for heard_by in hearers.values()), hearers


def test_the_listener_decides_whose_request_it_is() -> None:
    (host,) = served("combined").hosts
    keys = {}
    for listener in (CONTROLLER_LISTENER, BROKER_LISTENER):
        line = Line(host, listener)
        line.send(frame(ApiVersionsRequest(client_software_name="c", client_software_version="1")))
        host.settle()
        answer = decode_response(line.replies[0], ApiKey.API_VERSIONS, 4).body
        assert isinstance(answer, ApiVersionsResponse)
        keys[listener] = {one.api_key for one in answer.api_keys}
    assert ApiKey.VOTE in keys[CONTROLLER_LISTENER] - keys[BROKER_LISTENER]
    assert ApiKey.PRODUCE in keys[BROKER_LISTENER] - keys[CONTROLLER_LISTENER]


def test_an_answer_that_nobody_waits_for_is_nobodys() -> None:
    (host,) = served("combined").hosts
    late: list[NodeEvent] = [
        ResponseReceived(CallId(1_000_000), 0, ApiVersionsResponse()),
        CallFailed(CallId(1_000_001), CallFailure.TIMED_OUT),
    ]
    assert host.node.step(late, host.town.now, host.town.wall) == []


def test_a_step_takes_events_of_any_kind_in_their_order() -> None:
    alone = LoneController()
    alone.run(1)
    before = alone.log.end_offset
    events: list[NodeEvent] = [change(1, "compact"), TimePassed(), change(2, "delete"), TimePassed()]
    alone.perform(alone.node.step(events, alone.now, alone.wall))
    answers = [effect.request_id for effect in alone.seen if isinstance(effect, Respond)]
    assert answers[-2:] == [1, 2]
    assert alone.node.image.configs.of(4, "")["log.cleanup.policy"] == "delete"
    assert alone.log.end_offset == before + 2


class Leader:
    """The active controller of three, stepped by hand."""

    def __init__(self) -> None:
        quorum = Quorum(1, Fleet(voters=THREE, observers=(), dynamic=True))
        for voter in THREE:
            quorum.boot(voter)
        quorum.run(20.0, lambda: any(m.node is not None and m.node.is_active for m in quorum.machines.values()))
        quorum.run(quorum.time + 2.0)
        self.machine = next(m for m in quorum.machines.values() if m.node is not None and m.node.is_active)
        self.other = next(voter for voter in THREE if voter != self.machine.id)
        assert self.machine.node is not None
        assert self.machine.node.controller is not None
        self.node, self.controller = self.machine.node, self.machine.node.controller

    def step(self, *events: NodeEvent) -> list[tuple[int, list[int]]]:
        """Who is answered in this step, and with which errors."""
        effects = self.node.step(events, self.machine.now, self.machine.wall)
        return [
            (effect.request_id, [one.error_code for one in effect.body.responses])
            for effect in effects
            if isinstance(effect, Respond) and isinstance(effect.body, IncrementalAlterConfigsResponse)
        ]


def test_who_asks_in_the_step_in_which_leadership_is_lost_is_sent_on() -> None:
    """What came before it is decided, and nobody is told that it is committed; what comes after it is not decided."""
    leader = Leader()
    body = begin(leader.node.meta.replica.epoch + 1, leader.other)
    deposing = RequestReceived(RequestId(2), CONNECTION, ApiKey.BEGIN_QUORUM_EPOCH, 1, "voter", body)
    decided = leader.controller.counters.operations
    answered = leader.step(change(1, "compact"), deposing, change(3, "delete"))
    assert answered == [(1, [ErrorCode.NOT_CONTROLLER]), (3, [ErrorCode.NOT_CONTROLLER])]
    assert not leader.node.is_active
    assert leader.controller.counters.operations == decided + 1


def test_who_waits_when_the_node_is_told_to_leave_is_sent_on_in_the_same_step() -> None:
    leader = Leader()
    assert leader.step(change(1, "compact")) == []
    assert leader.step(ShutdownRequested()) == [(1, [ErrorCode.NOT_CONTROLLER])]
    assert not leader.node.is_active


@pytest.mark.parametrize("kinds", [("combined",), ("controller", "broker")], ids="-".join)
def test_a_broker_leaves_while_there_is_a_controller_to_take_leave_of(kinds: tuple[str, ...]) -> None:
    town = served(*kinds)
    leaving = town.hosts[-1]
    leaving.said.clear()
    leaving.feed(ShutdownRequested())
    leaving.feed(ShutdownRequested())
    town.until("it has left", 20, lambda: leaving.fault is not None)
    assert leaving.fault == "shut down"
    states = [said.split()[2] for said in leaving.said if said.startswith("broker is ")]
    assert states == ["CONTROLLED_SHUTDOWN", "STOPPED"], "the active controller let it go"
    if leaving is not town.controller:
        assert town.controller.node.is_active
