"""A controller of ours in the place of a recorded Java controller: its identity, its log, the epoch it was in, and who
led.

The recorded quorums left their logs behind, from the first record on (`tests/golden`). A node gets those of Java's
records that its Java twin had when it answered a frame: what lies before the epoch it leads is on its disk as Java
wrote it; it is elected by voters that grant as Java's did, writes its own LeaderChange, and appends Java's further
records as a leader appends. What else Java knew is read from the frame's answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from controller_runtime.controller.service import ControllerConfig
from controller_runtime.identifiers import (
    METADATA_TOPIC_ID,
    DirectoryId,
    Endpoint,
    Epoch,
    NodeId,
    Offset,
    OffsetAndEpoch,
    Uuid,
)
from controller_runtime.metadata.records import decode_record
from controller_runtime.node.compose import NodeConfig
from controller_runtime.node.controller_part import ControllerPartConfig
from controller_runtime.node.controller_registration import ControllerIdentity
from controller_runtime.node.quorum import effects as e
from controller_runtime.node.quorum.control_batches import decode_control_batch
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    ConnectionId,
    ConnectionInfo,
    RequestId,
    RequestReceived,
    ResponseReceived,
)
from controller_runtime.protocol.api_keys import ApiKey, request_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.messages import fetch_request as fetch
from controller_runtime.protocol.messages import fetch_response as fetched
from controller_runtime.protocol.messages import vote_response as vote
from controller_runtime.protocol.messages.register_controller_record import RegisterControllerRecord
from controller_runtime.protocol.messages.vote_request import VoteRequest
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.messages import LeaderChange, LogBatch
from controller_runtime.raft.voter_set import EMPTY, static_voters
from controller_runtime.storage.formatting import load_bootstrap_values
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY
from controller_runtime.storage.quorum_state import QuorumState, save_quorum_state
from support.disks.memory_disk import MemoryDisk
from support.golden import GOLDEN
from support.nodes.lone_controller import DATA, LOG, LoneController

LISTENER: Final = "CONTROLLER"
EVERYTHING: Final = 1 << 62
"""Instead of an offset: the end of the leader's log."""


@dataclass(frozen=True)
class RecordedQuorum:
    """One of the recorded quorums, and where the log of its history lies."""

    name: str
    cluster_id: str
    directories: dict[int, str]
    first_port: int
    log_of: str
    is_static: bool = False

    def key(self, node: NodeId) -> DirectoryId:
        return DirectoryId(Uuid.parse(self.directories[node]))

    def endpoint(self, node: NodeId) -> Endpoint:
        return Endpoint("127.0.0.1", self.first_port + node)

    def incarnation(self, node: NodeId, end: int) -> Uuid:
        """The one that the log knows of this controller at `end`."""
        found = Uuid.of(1, node)
        for batch in self.batches:
            if not batch.header.is_control and batch.header.next_offset <= end:
                for record in batch.records:
                    told = decode_record(record.value or b"")[0]
                    if isinstance(told, RegisterControllerRecord) and told.controller_id == node:
                        found = told.incarnation_id
        return found

    @cached_property
    def batches(self) -> tuple[RecordBatch, ...]:
        data = (GOLDEN / self.log_of / METADATA_DIRECTORY / f"{0:020}.log").read_bytes()
        return tuple(decode_batches(data))

    def epoch_start(self, epoch: Epoch) -> int:
        """The index of the first batch of this epoch."""
        return next(i for i, batch in enumerate(self.batches) if batch.header.partition_leader_epoch == epoch)

    def snapshots(self, node: NodeId) -> list[tuple[str, bytes]]:
        """By name, in order: the node's own, and those of others that it kept no more."""
        paths = sorted(GOLDEN.glob(f"{self.name}/controller-*/{METADATA_DIRECTORY}/*.checkpoint"))
        own = [path for path in paths if f"controller-{node}" in path.parts]
        return sorted({path.name: path.read_bytes() for path in [*paths, *own]}.items())


@dataclass(frozen=True)
class Stand:
    """What a controller knew when it was asked."""

    node: NodeId
    epoch: Epoch
    leader: NodeId | None
    end: int
    """Where its log ended."""
    high_watermark: int = -1
    leads: bool = False
    resigned: bool = False
    """It led this epoch, and gave it up."""
    has_fetched: bool = False
    """It follows the leader, and had an answer from it."""
    start: int = 0
    """The snapshot that its log begins with."""


class Twin(LoneController):
    """Ours in the place of a Java controller, of which it has the identity, the disk and the addresses."""

    def __init__(self, quorum: RecordedQuorum, stand: Stand) -> None:
        self.quorum = quorum
        self.stand = stand
        self._requests = 0
        first = quorum.epoch_start(stand.epoch) if stand.leads else len(quorum.batches)
        before = [batch for batch in quorum.batches[:first] if batch.header.next_offset <= stand.end]
        disk = _disk_of(quorum, stand, before)
        super().__init__(disk, config=_config(quorum, stand, disk), log_config=LogConfig())
        if stand.leads:
            self._lead(first)
        if stand.has_fetched:
            self._follow()
        if stand.resigned:
            self.perform(self.node.meta.resign(stand.epoch, self.now, self.wall))

    def ask(self, key: int, version: int, body: Message, then: int = -1, seconds: float = 1.0) -> Message | None:
        """The answer, through the codec both ways; None if there is none. If it waits, the others fetch at `then`, and
        time passes.
        """
        self._requests += 1
        number = RequestId(self._requests)
        arrived = decode(request_class(key), encode(body, version), version)
        asked = ConnectionInfo(ConnectionId(9), LISTENER)
        self.feed(RequestReceived(number, asked, ApiKey(key), version, "raft-client", arrived))
        if then >= 0 and self._answer_to(number) is None:
            self.run(0.02 if then == EVERYTHING else 0.0)  # A leader waits a moment for company before it writes.
            self.others_fetch(then)
        if self._answer_to(number) is None:
            self.run(seconds)
        answer = self._answer_to(number)
        return None if answer is None else decode(type(answer), encode(answer, version), version)

    def _answer_to(self, number: RequestId) -> Message | None:
        answers = [x.body for x in self.seen if isinstance(x, e.Respond) and x.request_id == number]
        return answers[0] if answers else None

    # Becoming the leader that Java was.

    def _lead(self, first: int) -> None:
        """Win the epoch with the votes that Java's leader had, and hold what it held."""
        stand, quorum = self.stand, self.quorum
        granting = next(
            record.granting_voters
            for _, record in decode_control_batch(quorum.batches[first])
            if isinstance(record, LeaderChange)
        )
        for _ in range(500):
            if self.node.meta.replica.is_leader:
                break
            self.run(0.02)
            self._grant(granting)
        assert self.node.meta.replica.epoch == stand.epoch, "it did not win the epoch"
        own = self.node.meta.end_offset
        assert own == quorum.batches[first].header.next_offset, "its first batch is as long as Java's"
        further = [batch for batch in quorum.batches[first + 1 :] if batch.header.next_offset <= stand.end]
        if first == 0 and len(further) == 1 and stand.high_watermark >= own:
            self.others_fetch(own)  # Of an empty log the first batch is written by whoever is active: ours, not Java's.
        else:
            self._append(further)
        assert self.node.meta.end_offset == stand.end, "it holds what Java held"
        self._take_snapshots()
        if stand.high_watermark >= own:
            self.others_fetch(stand.high_watermark)

    def _take_snapshots(self) -> None:
        """Those that Java's had taken by then."""
        for name, data in self.quorum.snapshots(self.me):
            snapshot_id = OffsetAndEpoch(Offset(int(name[:20])), Epoch(int(name[21:31])))
            if (
                self.stand.start < snapshot_id.offset <= self.stand.high_watermark
                and snapshot_id not in self.log.snapshots()
            ):
                self.log.write_snapshot(snapshot_id, 0, data, last=True)
                self.flush()
                self.perform(self.node.meta.snapshot_taken(snapshot_id, self.now, self.wall))

    def _grant(self, granting: tuple[NodeId, ...]) -> None:
        while self.outgoing:
            call = self.outgoing.popleft()
            if not isinstance(call, e.Call):
                continue
            if isinstance(call.body, VoteRequest) and call.endpoint.port % 100 in granting:
                asked = call.body.topics[0].partitions[0]
                granted = vote.PartitionData(leader_id=-1, leader_epoch=asked.replica_epoch, vote_granted=True)
                if not asked.pre_vote:
                    assert asked.replica_epoch == self.stand.epoch, "it stands for another epoch than Java's"
                answer = vote.VoteResponse(
                    topics=(vote.TopicData(topic_name="__cluster_metadata", partitions=(granted,)),)
                )
                self.feed(ResponseReceived(call.call_id, 2, answer))
            else:
                self.feed(CallFailed(call.call_id, CallFailure.REFUSED))

    def _follow(self) -> None:
        """The leader answers its first Fetch: there is nothing new."""
        self.run(0.02)
        call = next(call for call in self.outgoing if isinstance(call, e.Call) and call.body.KEY == ApiKey.FETCH)
        assert self.stand.leader is not None
        current = fetched.LeaderIdAndEpoch(leader_id=self.stand.leader, leader_epoch=self.stand.epoch)
        partition = fetched.PartitionData(high_watermark=self.stand.end, current_leader=current)
        topic = fetched.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=(partition,))
        self.feed(ResponseReceived(call.call_id, 18, fetched.FetchResponse(responses=(topic,))))

    def _append(self, batches: list[RecordBatch]) -> None:
        """As the leader appends what its application decided; the records are Java's."""
        for batch in batches:
            header = batch.header
            control = decode_control_batch(batch) if header.is_control else ()
            mine = LogBatch(
                Offset(header.base_offset), Offset(header.next_offset), self.stand.epoch, bytes(batch.data), control
            )
            self.node.meta.begin_step()
            self.perform(self.node.meta.append(self.stand.epoch, [mine], self.now, self.wall))

    def others_fetch(self, offset: int) -> None:
        """The other voters say that they have everything below `offset`."""
        offset = min(offset, self.node.meta.end_offset)
        voters = [NodeId(voter) for voter in self.quorum.directories] if self.quorum.is_static else []
        for voter in voters or self.node.meta.replica.voters.ids:
            if voter != self.me:
                self.ask(ApiKey.FETCH, 18, self._fetch(voter, offset), seconds=0.0)

    def _fetch(self, voter: NodeId, offset: int) -> Message:
        epochs = [b.header.partition_leader_epoch for b in self.quorum.batches if b.header.next_offset <= offset]
        asked = fetch.FetchPartition(
            partition=0, current_leader_epoch=self.stand.epoch, fetch_offset=offset, last_fetched_epoch=epochs[-1],
            replica_directory_id=self.quorum.key(voter), high_watermark=offset,
        )  # fmt: skip
        return fetch.FetchRequest(
            cluster_id=self.quorum.cluster_id,
            replica_state=fetch.ReplicaState(replica_id=voter),
            max_bytes=1 << 20,
            topics=(fetch.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(asked,)),),
        )


def _disk_of(quorum: RecordedQuorum, stand: Stand, batches: list[RecordBatch]) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directories(LOG)
    kept = [batch for batch in batches if batch.header.base_offset >= stand.start]
    _write(disk, f"{LOG}/{stand.start:020}.log", b"".join(bytes(batch.data) for batch in kept))
    end = kept[-1].header.next_offset if kept else 0
    for name, data in quorum.snapshots(stand.node):
        if stand.start <= int(name[:20]) <= end:
            _write(disk, f"{LOG}/{name}", data)
    bootstrap = GOLDEN / quorum.name / f"controller-{stand.node}" / "bootstrap.checkpoint"
    _write(disk, f"{DATA}/bootstrap.checkpoint", bootstrap.read_bytes())
    epoch = Epoch(stand.epoch - 1) if stand.leads else stand.epoch
    if epoch > 0:
        leader = None if stand.leads else stand.leader
        fixed = tuple(NodeId(n) for n in quorum.directories) if quorum.is_static else ()
        state = QuorumState(epoch, leader, static_voters=fixed, version=0 if quorum.is_static else 1)
        save_quorum_state(disk, LOG, state)
    return disk


def _write(disk: MemoryDisk, path: str, data: bytes) -> None:
    file = disk.open(path, create=True)
    file.write_at(0, data)
    file.fdatasync()


def _config(quorum: RecordedQuorum, stand: Stand, disk: MemoryDisk) -> NodeConfig:
    node = stand.node
    at = quorum.endpoint(node)
    peers = [NodeId(n) for n in quorum.directories]
    raft = RaftConfig(
        node, quorum.key(node), LISTENER, ((LISTENER, at),), bootstrap=tuple(quorum.endpoint(peer) for peer in peers)
    )
    values = load_bootstrap_values(disk, DATA) or ()
    controller = ControllerConfig(node, quorum.cluster_id, tuple(decode_record(value) for value in values))
    identity = ControllerIdentity(node, quorum.incarnation(node, stand.end), ((LISTENER, at, 0),))
    fixed = static_voters(LISTENER, [(peer, quorum.endpoint(peer)) for peer in peers]) if quorum.is_static else EMPTY
    return NodeConfig(raft, quorum.cluster_id, fixed, controller=ControllerPartConfig(controller, identity))
