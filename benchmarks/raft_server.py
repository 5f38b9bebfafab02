"""A node whose application does nothing but append: what consensus and the log can do without a controller, as
`kafka.tools.TestRaftServer` shows for Kafka.

    python -m benchmarks.raft_server SERVER.PROPERTIES RECORD_BYTES

The production process, driver, replica, log and wire, with another application on top: while it leads it appends
records of its own, one after another, and keeps a bounded number of them uncommitted.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from controller_runtime.answers.api_versions import api_versions
from controller_runtime.configuration import config
from controller_runtime.identifiers import Endpoint, Instant, Offset, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.network.client_pool import PoolCounts
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.events import LogFlushed
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.wire import RAFT_KEYS
from controller_runtime.parts.effects import CancelCall, CloseConnection, Respond, Stop
from controller_runtime.parts.events import (
    CallFailed,
    CallId,
    PeerDisconnected,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    TimePassed,
)
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.raft.messages import LogBatch
from controller_runtime.raft.voter_set import EMPTY
from controller_runtime.server.shell import assembly, process
from controller_runtime.server.shell.requests import Requests
from controller_runtime.server.telemetry.facts import NodeFacts
from controller_runtime.server.telemetry.health import Readiness

if TYPE_CHECKING:
    from controller_runtime.server.shell.driver import DataPlane

MAX_UNCOMMITTED: Final = 20_000
RECORDS_PER_BATCH: Final = 1_000


class AppendingNode:
    """Implements `ports.DrivenNode`."""

    def __init__(self, meta: MetadataReplica, record_bytes: int) -> None:
        self.meta = meta
        self._value = b"r" * record_bytes
        self._image = MetadataImage.empty()
        self._cancelled: set[CallId] = set()
        """Calls whose answer may still come, and concerns nobody."""

    def start(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        self.meta.begin_step()
        return self.meta.start(now, wall)

    def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[QuorumEffect]:
        self.meta.begin_step()
        out = [effect for event in events for effect in self._on_event(event, now, wall)]
        if self._may_append:
            out += self._append(now, wall)
        self._cancelled.update(effect.call_id for effect in out if isinstance(effect, CancelCall))
        if self.meta.ready_to_stop:
            out.append(Stop("shut down"))
        return out

    def next_deadline(self) -> Instant | None:
        return Instant(0.0) if self._may_append else self.meta.next_deadline()

    @property
    def _may_append(self) -> bool:
        return self.meta.leading is not None and self.meta.end_offset - self.meta.high_watermark < MAX_UNCOMMITTED

    def _append(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        leading = self.meta.leading
        assert leading is not None
        base = self.meta.end_offset
        records: list[Record] = []
        for offset in range(base, base + RECORDS_PER_BATCH):
            records.append(Record(offset, wall, None, self._value))
        data = encode_batch(records, base_offset=base, partition_leader_epoch=leading.epoch)
        batch = LogBatch(base, Offset(base + RECORDS_PER_BATCH), leading.epoch, data)
        return self.meta.append(leading.epoch, [batch], now, wall)

    def _on_event(self, event: NodeEvent, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        match event:
            case RequestReceived() if event.api_key in RAFT_KEYS:
                return self.meta.request(event, now, wall)
            case RequestReceived(body=ApiVersionsRequest() as request):
                level = self.meta.replica.voter_history.kraft_version
                answer = api_versions(
                    request,
                    event.api_version,
                    ListenerType.CONTROLLER,
                    image=self._image,
                    kraft_version=level,
                    end_offset=Offset(0),
                )
                return [Respond(event.request_id, answer)]
            case RequestReceived():
                return [CloseConnection(event.connection.connection_id)]
            case ResponseReceived(call_id) | CallFailed(call_id) if call_id in self._cancelled:
                return []
            case ResponseReceived(call_id, _, body):
                return self.meta.response(call_id, body, now, wall)
            case CallFailed(call_id, why):
                return self.meta.failed(call_id, why, now, wall)
            case PeerDisconnected(endpoint):
                return self.meta.peer_disconnected(endpoint, now, wall)
            case LogFlushed(end_offset):
                return self.meta.flushed(end_offset, now, wall)
            case TimePassed():
                return self.meta.tick(now, wall)
            case ShutdownRequested():
                return self.meta.shutdown(now, wall)
            case _:
                return []


class RunningAppender:
    """Implements `running.RunningNode`."""

    def __init__(self, node: AppendingNode) -> None:
        self._node = node

    @property
    def node(self) -> AppendingNode:
        return self._node

    @property
    def data_plane(self) -> DataPlane | None:
        return None

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        """Nothing comes from anywhere else."""

    def readiness(self) -> Readiness:
        return Readiness(self._node.meta.replica.leader_id)

    def known_image(self) -> None:
        """There is none: records here mean nothing."""

    async def facts(self, connections: Mapping[str, int], outgoing: PoolCounts) -> NodeFacts:
        raise NotImplementedError("this process has no HTTP port")

    def close(self) -> None:
        """Nothing beyond what the process closes."""


class _Process(process._Process):
    record_bytes = 256

    def _build(self, advertised: Mapping[str, Endpoint], now: Instant, requests: Requests) -> RunningAppender:
        del requests
        settings, disk = self._config, self._disk
        listeners = tuple((name, advertised[name]) for name in settings.controller_listener_names)
        raft = assembly.raft_config(settings, disk, listeners)
        meta = MetadataReplica(
            raft, disk.directories.cluster_id, log=disk.metadata_log, snapshots=disk.metadata_log, stored=disk.stored,
            static_voters=EMPTY, jitter=assembly.jitter, now=now
        )  # fmt: skip
        return RunningAppender(AppendingNode(meta, self.record_bytes))


def main() -> int:
    found = config.load(sys.argv[1])
    _Process.record_bytes = int(sys.argv[2])
    sys.setswitchinterval(process._SWITCH_INTERVAL_SECONDS)
    with asyncio.Runner(loop_factory=process.loop_factory()) as runner:
        return runner.run(_Process(found, assembly.open_disk(found)).run())


if __name__ == "__main__":
    sys.exit(main())
