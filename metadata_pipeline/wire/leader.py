"""The committed log of a living quorum, from its leader: Fetch and FetchSnapshot by replica id -1, which counts for
nothing in the quorum (KIP-595, KIP-630).

Everything needs ClusterAction alone: who leads is told by the refusal of a fetch at epoch 0, and every fetch names the
cluster, so the leader itself refuses who reads the wrong one. Leaders return what is not yet committed too: only what
lies below the high watermark of that very reply is given on, so nothing given on is ever truncated, except by losing a
majority's disks, which is an error of its own (`history replaced`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from controller_runtime.admin.connections import (
    Connections,
    Deadline,
    EndpointKind,
    Unreachable,
    parse_bootstrap,
    raise_if,
)
from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, Endpoint
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from controller_runtime.protocol.messages.fetch_snapshot_request import (
    FetchSnapshotRequest,
    PartitionSnapshot,
    SnapshotId,
    TopicSnapshot,
)
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.record_batch import batch_headers
from controller_runtime.protocol.schema import Message
from controller_runtime.security.listener_security import ListenerSecurity

M = TypeVar("M", bound=Message)

SLICE_BYTES: Final = 1 << 20
"""So much is asked for at once: a leader's followers wait for one such reply at most."""
TRIES: Final = 10
"""How many elections may come in between while a log is read."""
SECONDS: Final = 15.0
"""How long a quorum may take to show a leader, and a leader to answer."""
_MOVED: Final = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.SNAPSHOT_NOT_FOUND,
    )
)  # fmt: skip
"""What passes when the leader is looked up anew; a snapshot that was just replaced has a successor."""


class ReadError(Exception):
    """A quorum's log cannot be read on. `fault` is a word of `audit.findings`."""

    def __init__(self, fault: str, why: str) -> None:
        super().__init__(why)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything below `end` is known; the record before it has this epoch."""

    end: int = 0
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Leader:
    node: int
    epoch: int
    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Committed:
    """Whole batches from `start` on that the leader said are committed, and where they end."""

    start: int
    data: bytes
    mark: Mark
    leader: Leader


@dataclass(frozen=True, slots=True)
class SnapshotSlice:
    """Bytes of the snapshot that the log begins with. `last`: it is whole with them."""

    mark: Mark
    position: int
    data: bytes
    last: bool
    leader: Leader


Part = Committed | SnapshotSlice


@dataclass(frozen=True, slots=True)
class Told:
    """What the leader's last reply said of its log: up to where it is committed, and where it begins."""

    node: int
    epoch: int
    high_watermark: int
    log_start: int


class QuorumReader:
    """Reads one quorum. `pause` waits for so many seconds."""

    def __init__(
        self,
        bootstrap: str,
        cluster_id: str | None,
        security: ListenerSecurity,
        *,
        bytes_per_second: int | None = None,
        seconds: float | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises ValueError for addresses, SecurityError for what secures the connections."""
        addresses = parse_bootstrap(bootstrap)
        self._connections = Connections(addresses, EndpointKind.CONTROLLER, "kraft-pipeline", security=security)
        self.cluster_id = cluster_id
        self._rate = bytes_per_second
        self._slice = SLICE_BYTES if bytes_per_second is None else max(1, min(SLICE_BYTES, bytes_per_second))
        self._pause = pause
        self._seconds = SECONDS if seconds is None else seconds
        self.told: Told | None = None

    async def close(self) -> None:
        await self._connections.close()

    async def find_cluster_id(self) -> str:
        """What DescribeCluster says, which needs Alter on the cluster. Raises AdminError, ApiError."""
        if self.cluster_id is None:
            self.cluster_id = (await self._connections.describe_cluster(Deadline(self._seconds))).cluster_id
        return self.cluster_id

    async def parts(self, after: Mark, below: int | None = None) -> AsyncGenerator[Part]:
        """What follows, up to the high watermark, or to `below`, which is where a batch ends. A leader that changes
        meanwhile is followed; `after` moves with what was given. Raises ReadError, AdminError, ApiError.
        """
        for left in reversed(range(TRIES)):
            leader = await self._leader(after.epoch)
            try:
                async for part in self._of(leader, after, below):
                    if isinstance(part, Committed) or part.last:
                        after = part.mark
                    yield part
                return
            except _Moved as moved:
                if not left:
                    raise ReadError("away", f"its leader changed {TRIES} times: {moved}") from moved

    async def newest_snapshot(self, after: Mark, beyond: int) -> AsyncGenerator[SnapshotSlice]:
        """The snapshot that the leader's log begins with, if it ends above `beyond` and not above `after`. Raises as
        `high_watermark`.
        """
        leader = await self._leader(after.epoch)
        try:
            answer = await self._fetch(leader.endpoint, leader.epoch, Mark())
            snapshot = Mark(answer.snapshot_id.end_offset, answer.snapshot_id.epoch)
            if snapshot.epoch >= 0 and beyond < snapshot.end <= after.end:
                async for part in self._snapshot(leader, snapshot):
                    yield part
        except _Moved as moved:
            raise ReadError("away", f"its leader changed: {moved}") from moved

    async def high_watermark(self, after: Mark) -> int:
        """Up to where the log is committed now. Raises as `parts`, and ReadError when the leader changes just now."""
        leader = await self._leader(after.epoch)
        try:
            return (await self._fetch(leader.endpoint, leader.epoch, after)).high_watermark
        except _Moved as moved:
            raise ReadError("away", f"its leader changed: {moved}") from moved

    async def _of(self, leader: Leader, after: Mark, below: int | None) -> AsyncIterator[Part]:
        while below is None or after.end < below:
            answer = await self._fetch(leader.endpoint, leader.epoch, after)
            if answer.log_start_offset >= 0 and answer.high_watermark >= 0:
                self.told = Told(leader.node, leader.epoch, answer.high_watermark, answer.log_start_offset)
            if answer.diverging_epoch.epoch >= 0:
                why = (
                    f"the leader {leader.node} of epoch {leader.epoch} does not have offset {after.end - 1} of epoch "
                    f"{after.epoch}, which was committed: its log goes on from {answer.diverging_epoch.end_offset} of "
                    f"epoch {answer.diverging_epoch.epoch}"
                )
                raise ReadError("history replaced", why)
            if answer.snapshot_id.epoch >= 0:
                snapshot = Mark(answer.snapshot_id.end_offset, answer.snapshot_id.epoch)
                if snapshot.end <= after.end:
                    raise ReadError("malformed", f"offset {after.end} is answered with a snapshot of {snapshot.end}")
                if below is not None and snapshot.end > below:
                    why = f"the log begins with a snapshot of {snapshot.end}, above what was planned, {below}"
                    raise ReadError("trimmed", why)
                async for part in self._snapshot(leader, snapshot):
                    yield part
                after = snapshot
                continue
            found = committed_of(bytes(answer.records or b""), after, _lower(answer.high_watermark, below), leader)
            if found is None:
                return
            yield found
            after = found.mark

    async def _snapshot(self, leader: Leader, snapshot: Mark) -> AsyncIterator[SnapshotSlice]:
        position, size = 0, 1
        while position < size:
            wanted = PartitionSnapshot(
                partition=0, current_leader_epoch=leader.epoch, position=position,
                snapshot_id=SnapshotId(end_offset=snapshot.end, epoch=snapshot.epoch),
            )  # fmt: skip
            request = FetchSnapshotRequest(
                cluster_id=self.cluster_id, max_bytes=self._slice,
                topics=(TopicSnapshot(name=METADATA_TOPIC_NAME, partitions=(wanted,)),),
            )  # fmt: skip
            found = await self._asked(leader.endpoint, request, FetchSnapshotResponse)
            answer = next((one for topic in found.topics for one in topic.partitions), None)
            code = found.error_code or (answer.error_code if answer is not None else ErrorCode.UNKNOWN_SERVER_ERROR)
            self._check(code)
            assert answer is not None, "an answer without a partition has a code"
            data, size = bytes(answer.unaligned_records), answer.size
            if not data or answer.position != position or position + len(data) > size:
                raise ReadError("malformed", f"{len(data)} bytes of a snapshot at {answer.position}, not at {position}")
            yield SnapshotSlice(snapshot, position, data, position + len(data) == size, leader)
            position += len(data)
            await self._kept_slow(len(data))

    async def _fetch(self, endpoint: Endpoint, leader_epoch: int, after: Mark) -> PartitionData:
        found, answer = await self._fetched(endpoint, leader_epoch, after)
        self._check(found.error_code or answer.error_code)
        await self._kept_slow(len(answer.records or b""))
        return answer

    async def _fetched(self, endpoint: Endpoint, leader_epoch: int, after: Mark) -> tuple[FetchResponse, PartitionData]:
        partition = FetchPartition(
            partition=0, current_leader_epoch=leader_epoch, fetch_offset=after.end, last_fetched_epoch=after.epoch,
            partition_max_bytes=self._slice,
        )  # fmt: skip
        request = FetchRequest(
            cluster_id=self.cluster_id, max_wait_ms=0, max_bytes=self._slice,
            topics=(FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),),
        )  # fmt: skip
        found = await self._asked(endpoint, request, FetchResponse)
        answers = [one for topic in found.responses for one in topic.partitions]
        if not answers and not found.error_code:
            raise ReadError("malformed", f"{endpoint} answers a fetch without a partition")
        return found, answers[0] if answers else PartitionData()

    async def _asked(self, endpoint: Endpoint, request: Message, answer: type[M]) -> M:
        try:
            return await self._connections.ask_at(endpoint, request, answer, self._seconds)
        except Unreachable as error:
            raise _Moved(str(error)) from error
        except ProtocolError as error:
            raise ReadError("malformed", f"{endpoint}: {error}") from error

    def _check(self, code: int) -> None:
        if code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            raise ReadError("another cluster", f"its controllers do not belong to cluster {self.cluster_id}")
        if code in _MOVED:
            raise _Moved(ErrorCode(code).name)
        raise_if(code)

    async def _leader(self, epoch_read: int) -> Leader:
        """The leader as the controllers name it; one of an older epoch than what was read is deposed. Raises ReadError
        when none is named in time.
        """
        deadline, why = Deadline(self._seconds), "no address to ask"
        older: Leader | None = None
        while True:
            for endpoint in self._connections.bootstrap:
                try:
                    found, answer = await self._fetched(endpoint, 0, Mark())
                    code = found.error_code or answer.error_code
                    if code not in _MOVED:
                        self._check(code)
                except _Moved as error:
                    why = str(error)
                    continue
                node, epoch = answer.current_leader.leader_id, answer.current_leader.leader_epoch
                named = [Endpoint(one.host, one.port) for one in found.node_endpoints if one.node_id == node]
                why = f"{endpoint} knows no leader"
                if node >= 0 and (named or code == ErrorCode.NONE):
                    found_leader = Leader(node, epoch, named[0] if named else endpoint)
                    if epoch >= epoch_read:
                        return found_leader
                    older = found_leader
            if not await deadline.pause():
                if older is not None:
                    told = (
                        f"node {older.node} leads epoch {older.epoch}, and records of epoch {epoch_read} were committed"
                    )
                    raise ReadError("history replaced", told)
                raise ReadError("away", f"no leader in {self._seconds:.0f} s: {why}")

    async def _kept_slow(self, size: int) -> None:
        if self._rate is not None and size:
            await self._pause(size / self._rate)


class _Moved(Exception):
    """Somebody else leads now, or nobody answers there."""


def _lower(high_watermark: int, below: int | None) -> int:
    return high_watermark if below is None else min(high_watermark, below)


def committed_of(data: bytes, after: Mark, high_watermark: int, leader: Leader) -> Committed | None:
    """The whole batches of a reply below its high watermark, in order and without a hole. Raises ReadError."""
    mark, begin, end = after, None, 0
    try:
        for header in batch_headers(data, partial_tail=True):
            last = header.base_offset + header.last_offset_delta
            if last < after.end:
                continue
            if last >= high_watermark:
                break
            if header.base_offset != mark.end or header.partition_leader_epoch < mark.epoch:
                raise ReadError(
                    "malformed",
                    f"offset {mark.end} of epoch {mark.epoch} is followed by offset {header.base_offset} of epoch "
                    f"{header.partition_leader_epoch}",
                )
            begin = header.position if begin is None else begin
            end = header.end_position
            mark = replace(mark, end=last + 1, epoch=header.partition_leader_epoch)
    except ProtocolError as error:
        raise ReadError("malformed", f"behind offset {mark.end}: {error}") from error
    return None if begin is None else Committed(after.end, data[begin:end], mark, leader)
