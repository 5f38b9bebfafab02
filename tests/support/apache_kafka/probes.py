"""The recorded probes: crafted requests to a Java quorum with its answers, put to a quorum of our own nodes.

The quorum is simulated (`support.simulation`): whole production nodes, one virtual network, no ports. It is brought to
where the Java quorum stood: node 2 leads epoch 2, node 1 follows, epoch 1 lies behind. Ids, addresses and offsets of
the recording are translated into those of our quorum and back; everything else must be equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from controller_runtime.identifiers import Epoch, NodeId, OffsetAndEpoch
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    ConnectionId,
    ConnectionInfo,
    RequestId,
    RequestReceived,
)
from controller_runtime.protocol.api_keys import ApiKey, request_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.json_form import from_json, to_json
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.events import SnapshotTaken
from support.golden import GOLDEN, json_lines
from support.simulation.machine import CLUSTER_ID, LISTENER, Fleet, Machine, directory_of, endpoint_of
from support.simulation.world import World

NODES: Final = (NodeId(1), NodeId(2), NodeId(3))
RECORDED_CLUSTER: Final = "7677wbtSR9GVS57onaI9tA"
RECORDED_DIRECTORIES: Final = ("XaKBzZzJSxOKeUKk6MAQ7g", "pQmPFHUVTFiIDXvR2zXyrg", "oLzm5qttRC-65UUoTmJF5A")
RECORDED_PORT: Final = 32000
RECORDED_LOG_END: Final = 3621
RECORDED_FIRST_EPOCH_END: Final = 2408
RECORDED_SNAPSHOT: Final = 3619
BEHIND_THE_HISTORY: Final = 3000
"""Recorded offsets above this are about the end of the log."""

OFFSETS: Final = {"fetchOffset", "endOffset", "lastOffset", "highWatermark", "logEndOffset"}
TIMES: Final = {"lastFetchTimestamp", "lastCaughtUpTimestamp"}
SIZES: Final = {"recordsSizeInBytes", "unalignedRecordsSizeInBytes", "size"}


@dataclass(frozen=True)
class Probe:
    name: str
    node: NodeId
    api_key: int
    version: int
    body: dict[str, Any] | None
    response: dict[str, Any] | None
    raw: bool


def probes() -> list[Probe]:
    return [
        Probe(
            name=row["name"],
            node=NodeId(row["port"] - RECORDED_PORT),
            api_key=row["api_key"],
            version=row["version"],
            body=row.get("body"),
            response=row.get("response"),
            raw="raw" in row,
        )
        for row in json_lines("wire/probes.jsonl.gz")
    ]


class Quorum(World):
    """A simulated world that can be asked one request at a given version, and tells the answer as Kafka's JSON."""

    def __init__(self, seed: int, fleet: Fleet = Fleet(voters=NODES, observers=(), dynamic=True)) -> None:
        super().__init__(seed, fleet)
        self._answers: dict[RequestId, Message | None] = {}
        self._next_probe = 1_000_000

    def leader(self, epoch: int) -> Machine | None:
        """The active controller of this epoch, if nobody is in another one."""
        up = [(machine, machine.node) for machine in self.machines.values() if machine.node is not None]
        if any(node.meta.replica.epoch != epoch for _, node in up):
            return None
        return next((machine for machine, node in up if node.is_active), None)

    def respond(self, machine: Machine, request_id: RequestId, body: Message) -> None:
        if request_id >= 1_000_000:
            self._answers[request_id] = body
        else:
            super().respond(machine, request_id, body)

    def call(self, machine: Machine, call: Call) -> None:
        """At an address that no machine of ours has, nobody listens."""
        if call.endpoint in self._by_endpoint:
            super().call(machine, call)
        else:
            self.later(0.001, lambda: machine.feed(CallFailed(call.call_id, CallFailure.REFUSED)))

    def violation(self, text: str) -> None:
        if not text.endswith("closed a connection"):
            super().violation(text)
        self._answers[RequestId(self._next_probe)] = None

    def probe(self, node: NodeId, key: int, version: int, body: Message) -> Message | None:
        """The answer, through the codec both ways; None when the connection was closed instead."""
        self._next_probe += 1
        request_id = RequestId(self._next_probe)
        arrived = decode(request_class(key), encode(body, version), version)
        connection = ConnectionInfo(ConnectionId(-7), LISTENER)
        self.machines[node].feed(RequestReceived(request_id, connection, ApiKey(key), version, "probe", arrived))
        self.run(self.time + 5.0, lambda: request_id in self._answers)
        answer = self._answers.pop(request_id)
        if key == ApiKey.UPDATE_RAFT_VOTER:
            self.run(self.time + 0.1)  # A new voter set is answered when it is written, and then committed.
        return None if answer is None else decode(type(answer), encode(answer, version), version)


def quorum_like_the_recorded() -> Translation:
    """A quorum in which node 2 leads epoch 2, with a snapshot, and the translation to it."""
    for seed in range(200):
        quorum = Quorum(seed)
        for node in NODES:
            quorum.boot(node)
        if not quorum.run(20.0, lambda q=quorum: q.leader(1) is not None):  # type: ignore[misc]
            continue
        first = quorum.leader(1)
        assert first is not None
        if first.id == 2:
            continue
        quorum.run(quorum.time + 3.0)  # registrations, and some NoOp records
        quorum.kill(first.id, power_loss=False)
        if not quorum.run(quorum.time + 20.0, lambda q=quorum: q.leader(2) is not None):  # type: ignore[misc]
            continue
        second = quorum.leader(2)
        assert second is not None
        assert second.log is not None
        if second.id != 2:
            continue
        quorum.boot(first.id)
        quorum.run(quorum.time + 6.0)
        if quorum.leader(2) is second:
            first_epoch_end = dict(second.log.epoch_starts())[Epoch(2)]
            return Translation(quorum, int(first_epoch_end), _give_snapshot(quorum, second))
    raise AssertionError("no seed under 200 gives node 2 the second epoch")


def _give_snapshot(quorum: Quorum, leader: Machine) -> int:
    """Give the leader a snapshot at the end of its log; what it holds matters to nobody here."""
    assert leader.log is not None
    content = (
        GOLDEN / "cluster/controller-2/__cluster_metadata-0/00000000000000000612-0000000002.checkpoint"
    ).read_bytes()
    quorum.run(quorum.time + 3.0, lambda: leader.process is not None and not leader.process.is_writing)
    snapshot_id = OffsetAndEpoch(leader.log.end_offset, Epoch(2))
    leader.log.write_snapshot(snapshot_id, 0, content, last=True)
    pending = leader.log.take_pending_write()
    assert pending is not None
    pending.perform()
    leader.log.complete(pending)
    assert leader.node is not None
    leader.node.meta.replica.step(SnapshotTaken(snapshot_id), leader.now)
    return snapshot_id.offset


class Translation:
    """Between the recorded quorum and ours."""

    def __init__(self, quorum: Quorum, first_epoch_end: int, snapshot_end: int) -> None:
        self.quorum = quorum
        self.first_epoch_end = first_epoch_end
        self.snapshot_end = snapshot_end
        self.recorded_end = RECORDED_LOG_END
        ours = [str(directory_of(node)) for node in NODES]
        self._ids = dict(zip((RECORDED_CLUSTER, *RECORDED_DIRECTORIES), (CLUSTER_ID, *ours), strict=True))
        self._back = {our: recorded for recorded, our in self._ids.items()}

    @property
    def log_end(self) -> int:
        log = self.quorum.machines[NodeId(2)].log
        assert log is not None
        return log.end_offset

    def request(self, probe: Probe) -> Message:
        """The request as it must be put to our quorum now."""
        self.recorded_end = _first_high_watermark(probe.response) or self.recorded_end
        body = _walk(probe.body, self._into_ours)
        return from_json(request_class(probe.api_key), body, probe.version)

    def _into_ours(self, key: str, value: Any) -> Any:
        if key in OFFSETS and isinstance(value, int):
            if value == RECORDED_SNAPSHOT:
                return self.snapshot_end
            return value - self.recorded_end + self.log_end if value > BEHIND_THE_HISTORY else value
        return self._ids.get(value, value) if isinstance(value, str) else value

    def ours(self, response: Message | None, version: int) -> Any:
        """Our answer in the recording's terms."""
        if response is None:
            return "closed"
        end = self.first_epoch_end

        def back(key: str, value: Any) -> Any:
            if key in OFFSETS and isinstance(value, int):
                return "first epoch end" if value == end else "log end" if value > end else value
            if isinstance(value, str) and key == "errorMessage":
                for our, recorded in self._back.items():
                    value = value.replace(our, recorded)
            return self._back.get(value, value) if isinstance(value, str) else value

        shown = _walk(json.loads(json.dumps(to_json(response, version))), back)
        return _walk_structs(_walk(shown, _coarse), _address_back)

    def recorded(self, response: dict[str, Any]) -> Any:
        def name(key: str, value: Any) -> Any:
            if key in OFFSETS and isinstance(value, int):
                return (
                    "first epoch end"
                    if value == RECORDED_FIRST_EPOCH_END
                    else "log end"
                    if value > BEHIND_THE_HISTORY
                    else value
                )
            return value

        return _walk(_walk(response, name), _coarse)


def _coarse(key: str, value: Any) -> Any:
    """What differs from run to run, reduced to what matters."""
    if key in TIMES:
        return "a time" if value > 0 else value
    if key in SIZES:
        return "some" if value > 0 else value
    if key == "brokerEpoch" and value > 0:
        return "an epoch"
    return value


def _first_high_watermark(response: dict[str, Any] | None) -> int:
    """Where the recorded log ended when this was answered; 0 when the answer does not say."""
    found: list[int] = []
    _walk(response, lambda key, value: found.append(value) if key == "highWatermark" else None)
    return max(found, default=0)


def _address_back(struct: dict[str, Any]) -> dict[str, Any]:
    addresses = {endpoint_of(node).host: RECORDED_PORT + node for node in NODES}
    if struct.get("host") in addresses:
        return struct | {"host": "127.0.0.1", "port": addresses[struct["host"]]}
    return struct


def _walk(value: Any, change: Callable[[str, Any], Any], key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _walk(each, change, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_walk(each, change, key) for each in value]
    return change(key, value)


def _walk_structs(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(value, dict):
        return change({name: _walk_structs(each, change) for name, each in value.items()})
    return [_walk_structs(each, change) for each in value] if isinstance(value, list) else value
