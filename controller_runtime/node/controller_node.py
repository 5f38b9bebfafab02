"""A controller: the metadata log, the image of the cluster, and the decisions of the active one.

It is active while it leads and everything that earlier leaders left has been replayed. A decision is replayed on the
newest image, written, and its reply waits for the commit; losing leadership drops what is uncommitted and sends the
askers on. Standby controllers replay what is committed. One step handles one event wholly; long logs are replayed in
pieces, one per step, so that a vote never waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from controller_runtime.controller.service import (
    SERVED_BY_ACTIVE,
    SERVED_BY_ANY,
    Chance,
    ControllerConfig,
    ControllerService,
)
from controller_runtime.identifiers import NO_NODE, Epoch, Instant, NodeId, Offset, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node import envelope as envelopes
from controller_runtime.node.active_controller import ActiveController
from controller_runtime.node.api_versions import api_versions
from controller_runtime.node.controller_registration import ControllerIdentity, ControllerRegistrar
from controller_runtime.node.controller_status import ControllerStatus, OperationCounters, status_of
from controller_runtime.node.damage import DamageWatch
from controller_runtime.node.describe_quorum import describe_quorum
from controller_runtime.node.effects import CloseConnection, Log, NodeEffect, Respond, Stop
from controller_runtime.node.election_counts import ElectionCounts
from controller_runtime.node.events import (
    CallFailed,
    CallId,
    ConnectionClosed,
    LogFlushed,
    LogScrubbed,
    NodeEvent,
    PeerDisconnected,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    SnapshotFlushed,
    SnapshotGivenUp,
    SnapshotWritten,
    TimePassed,
)
from controller_runtime.node.faults import OURS, UnreadableLog, not_controller, place_of
from controller_runtime.node.image_feed import ImageFeed
from controller_runtime.node.log_writer import LINGER_S, LogWriter
from controller_runtime.node.metadata_replica import RAFT_KEYS, VOTER_KEYS, CallIds, MetadataReplica
from controller_runtime.node.pending import Asker, Call
from controller_runtime.node.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.request_contexts import RequestContexts
from controller_runtime.node.snapshots import SnapshotConfig, SnapshotKeeper
from controller_runtime.protocol.api_keys import Role
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.voter_set import EMPTY, VoterSet
from controller_runtime.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Everything a controller is told at start."""

    raft: RaftConfig
    controller: ControllerConfig
    identity: ControllerIdentity
    static_voters: VoterSet = EMPTY
    snapshots: SnapshotConfig = SnapshotConfig()
    append_linger_s: float = LINGER_S


class ControllerNode:
    """Implements `ports.Node`."""

    def __init__(
        self,
        config: NodeConfig,
        log: MetadataLogReader,
        snapshots: SnapshotReader,
        stored: ElectionState | None,
        chance: Chance,
        jitter: Callable[[], float],
        now: Instant,
        calls: CallIds | None = None,
    ) -> None:
        self.config = config
        cluster_id = config.controller.cluster_id
        self.meta = MetadataReplica(
            config.raft, cluster_id, log, snapshots, stored, config.static_voters, jitter, now, calls
        )
        self._feed = ImageFeed(self.meta, snapshots)
        self.keeper = SnapshotKeeper(config.snapshots, self.meta, log, snapshots, now)
        self.damage = DamageWatch(config.snapshots.scrub_interval_ms, self.meta, self.keeper, now)
        self._service = ControllerService(config.controller, chance)
        self._registrar = ControllerRegistrar(config.identity, self.meta.calls)
        self._contexts = RequestContexts(self.meta, config.raft.listener)
        self._active: ActiveController | None = None
        self._segment_bytes = log.segment_bytes
        self._stopped = False
        self._wants_turn = False
        self.counters = OperationCounters()
        self.faults = self.meta.faults

    # What others may know.

    @property
    def image(self) -> MetadataImage:
        """The newest committed image, without a metadata transaction that is still open."""
        return (self._active.writer.committed_image if self._active else self._feed.image).stable

    @property
    def image_offset(self) -> Offset:
        """Where the newest committed image ends."""
        return self._active.writer.committed_offset if self._active else self._feed.position

    @property
    def is_active(self) -> bool:
        return self._active is not None

    @property
    def applied_timestamp(self) -> int:
        """The wall clock of the newest batch in the image, ms; -1: none."""
        return self._active.writer.committed_timestamp if self._active else self._feed.last_timestamp

    @property
    def elections(self) -> ElectionCounts:
        """Of partition leaders; for metrics."""
        return self._feed.elections

    @property
    def replayed_batches(self) -> tuple[int, Sequence[tuple[int, int]]]:
        """How many this process replayed, and the records and bytes of the newest; for metrics."""
        return self._feed.batches, self._feed.batch_sizes

    @property
    def loaded_snapshots(self) -> int:
        return self._feed.loaded_snapshots

    def silences(self, now: Instant) -> dict[NodeId, float]:
        """Seconds since each broker's last heartbeat, if this controller is active."""
        return self._service.silences(now)

    def status(self) -> ControllerStatus:
        waiting = self._active.pending_replies if self._active else 0
        return status_of(self.meta, self.image_offset, waiting, is_active=self.is_active)

    # Driving it.

    def start(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        self.meta.begin_step()
        return self._finish(self.meta.start(now, wall), now, wall)

    def _begin_step(self) -> None:
        self.meta.begin_step()
        self._contexts.forget()

    def step(self, event: NodeEvent, now: Instant, wall: WallClock) -> list[NodeEffect]:
        self._begin_step()
        try:
            return self._finish(self._on_event(event, now, wall), now, wall)
        except UnreadableLog as unreadable:
            return [Stop(str(unreadable), fault=True)]

    def step_requests(self, requests: Sequence[RequestReceived], now: Instant, wall: WallClock) -> list[NodeEffect]:
        """One step for requests that came at the same moment: decided one after another, written and
        released together.
        """
        self._begin_step()
        out: list[NodeEffect] = []
        try:
            for request in requests:
                out += self._on_request(request, now, wall)
            return self._finish(out, now, wall)
        except UnreadableLog as unreadable:
            return [Stop(str(unreadable), fault=True)]

    def next_deadline(self) -> Instant | None:
        if self._wants_turn:
            return Instant(0.0)
        wanted = [
            self.meta.next_deadline(),
            self._registrar.next_deadline(),
            self.keeper.next_deadline(),
            self.damage.next_deadline(),
        ]
        if self._active is not None:
            wanted.append(self._active.next_deadline())
        return min((at for at in wanted if at is not None), default=None)

    def _on_event(self, event: NodeEvent, now: Instant, wall: WallClock) -> list[NodeEffect]:
        match event:
            case RequestReceived():
                return self._on_request(event, now, wall)
            case ResponseReceived(call_id, _, body):
                if self.meta.owns(call_id):
                    # What a new voter's node understands may be the last thing that its addition waits for.
                    ahead = self._flush(now, wall) if isinstance(body, ApiVersionsResponse) else []
                    return ahead + self.meta.response(call_id, body, now, wall)
                return self._on_registered(call_id, body, now)
            case CallFailed(call_id, why):
                if self.meta.owns(call_id):
                    return self.meta.failed(call_id, why, now, wall)
                self._registrar.on_failure(call_id, now)
                return []
            case PeerDisconnected(endpoint):
                return self.meta.peer_disconnected(endpoint, now, wall)
            case LogFlushed(end_offset):
                return self.meta.flushed(end_offset, now, wall)
            case SnapshotFlushed(snapshot_id):
                return self.meta.snapshot_flushed(snapshot_id, now, wall)
            case SnapshotWritten(snapshot_id, size_bytes):
                return self.keeper.written(snapshot_id, size_bytes, now, wall)
            case SnapshotGivenUp(snapshot_id, reason):
                return self.keeper.given_up(snapshot_id, reason)
            case LogScrubbed(damage):
                return self.damage.scrubbed(damage, now)
            case TimePassed():
                return self.meta.tick(now, wall)
            case ShutdownRequested():
                return self._flush(now, wall) + self.meta.shutdown(now, wall)
            case ConnectionClosed():
                return []
            case _ as unknown:
                assert_never(unknown)

    def _on_registered(self, call_id: CallId, body: Message, now: Instant) -> list[NodeEffect]:
        try:
            self._registrar.on_response(call_id, body, now)
        except Exception as error:
            self._registrar.on_failure(call_id, now)
            return [self.faults.count(body.KEY, "answered by a peer", error)]
        return []

    # Requests.

    def _on_request(self, event: RequestReceived, now: Instant, wall: WallClock) -> list[NodeEffect]:
        try:
            if event.api_key in RAFT_KEYS:
                return self._ask_raft(event, now, wall)
            return self._on_call(event, now, wall)
        except OURS:
            raise
        except Exception as error:
            asker = Asker(event.request_id, event.body, None, event.connection.connection_id)
            return self.faults.fail(asker, "decided", error)

    def _ask_raft(
        self, event: RequestReceived, now: Instant, wall: WallClock, envelope: RequestHeader | None = None
    ) -> list[NodeEffect]:
        """Consensus may write control records: decisions that have their offsets go first."""
        self._contexts.forget()
        out: list[NodeEffect] = []
        try:
            if event.api_key in VOTER_KEYS:
                out += self._flush(now, wall)
            out += self.meta.request(event, now, wall, envelope)
        except OURS:
            raise
        except Exception as error:
            asker = Asker(event.request_id, event.body, envelope, event.connection.connection_id)
            out += self.faults.fail(asker, "judged", error)
        return out

    def _on_call(self, event: RequestReceived, now: Instant, wall: WallClock) -> list[NodeEffect]:
        match event.body:
            case ApiVersionsRequest() as request:
                version = self.meta.replica.voter_history.kraft_version
                answer = api_versions(
                    request, event.api_version, Role.CONTROLLER, self.image, version, self.image_offset
                )
                return [Respond(event.request_id, answer)]
            case EnvelopeRequest() as envelope:
                return self._on_envelope(event, envelope, now, wall)
            case body:
                asker = Asker(event.request_id, body, None, event.connection.connection_id)
                call = Call(asker, event.connection, event.api_key, event.api_version, event.connection.principal)
                return self._serve(call, now, wall)

    def _on_envelope(
        self, event: RequestReceived, envelope: EnvelopeRequest, now: Instant, wall: WallClock
    ) -> list[NodeEffect]:
        found = envelopes.unwrap(envelope)
        if not isinstance(found, envelopes.Unwrapped):
            return [Respond(event.request_id, found)]
        header = found.request.header
        asker = Asker(event.request_id, found.request.body, header, event.connection.connection_id)
        key, version = header.request_api_key, header.request_api_version
        if key in VOTER_KEYS:
            if not self.meta.replica.is_leader:
                return [Respond(event.request_id, envelopes.not_controller())]
            forwarded = replace(event, api_key=key, api_version=version, body=found.request.body)
            return self._ask_raft(forwarded, now, wall, header)
        return self._serve(Call(asker, event.connection, key, version, found.principal), now, wall)

    def _serve(self, call: Call, now: Instant, wall: WallClock) -> list[NodeEffect]:
        asker = call.asker
        try:
            answer = self._read(call, now, wall)
        except OURS:
            raise
        except Exception as error:
            return self.faults.fail(asker, "decided", error)
        if answer is not None:
            return [answer]
        if call.key not in SERVED_BY_ACTIVE:
            return [CloseConnection(call.connection.connection_id)]
        active = self._active
        if active is None or active.is_full:
            self.counters.refused(asker.request, overloaded=active is not None)
            self._service.hear(self.image, asker.request, now)
            return [self._refuse(asker)]
        return active.serve(call, now, wall)

    def _read(self, call: Call, now: Instant, wall: WallClock) -> NodeEffect | None:
        """The answer to what changes nothing; None to what has to be decided."""
        asker = call.asker
        if isinstance(asker.request, DescribeQuorumRequest):
            seen = self.meta.replica.describe(now)
            if seen is None and asker.envelope is not None:
                return Respond(asker.request_id, envelopes.not_controller())
            voters = self.meta.replica.voters
            answer = describe_quorum(asker.request, seen, voters, now, wall, call.version)
            return Respond(asker.request_id, envelopes.told(asker.envelope, answer))
        if call.key in SERVED_BY_ANY:
            context = self._contexts.of(call, self.image_offset, wall)
            told = self._service.handle(self.image, asker.request, context, now).response
            return Respond(asker.request_id, envelopes.told(asker.envelope, told))
        return None

    def _refuse(self, asker: Asker) -> NodeEffect:
        """This node is not the active controller, or not any more."""
        leader = self.meta.replica.leader_id
        return not_controller(asker, NO_NODE if leader is None else leader)

    # After every event.

    def _finish(self, out: list[NodeEffect], now: Instant, wall: WallClock) -> list[NodeEffect]:
        try:
            self._work(out, now, wall)
        except OURS:
            raise
        except Exception as error:
            if self._active is None:
                raise
            out += self._give_up_leading(self._active, error, now, wall)
        out += self.damage.poll(now) + self._keep_snapshots(now, wall)
        if self.meta.ready_to_stop and not self._stopped:
            self._stopped = True
            out.append(Stop("shut down"))
        return out

    def _work(self, out: list[NodeEffect], now: Instant, wall: WallClock) -> None:
        out += self._lead_or_follow(now, wall)
        if self._active is None:
            out += self._register(now)
            return
        self._active.work(out, self._registrar, now, wall)
        if self.meta.leading is None:
            out += self._lead_or_follow(now, wall)  # Writing may be what makes it notice that it leads no more.

    def _give_up_leading(
        self, active: ActiveController, error: Exception, now: Instant, wall: WallClock
    ) -> list[NodeEffect]:
        """The work of the active controller failed, for nobody's request: another one may do better. Nothing
        uncommitted stays.
        """
        epoch = active.writer.epoch
        said = Log("error", f"giving up epoch {epoch}, the active controller's own work failed: {place_of(error)}")
        return [said, *self.meta.resign(epoch, now, wall), *self._lead_or_follow(now, wall)]

    def _keep_snapshots(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        if self._active is None:
            feed = self._feed
            return self.keeper.poll(feed.image, feed.position, feed.last_timestamp, feed.replayed_bytes, now, wall)
        writer = self._active.writer
        image, offset, timestamp = writer.committed_image, writer.committed_offset, writer.committed_timestamp
        return self.keeper.poll(image, offset, timestamp, writer.committed_bytes, now, wall)

    def _lead_or_follow(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        out: list[NodeEffect] = []
        leading = self.meta.leading
        if self._active is not None and (leading is None or leading.epoch != self._active.writer.epoch):
            out += self._deactivate(self._active)
        if self._active is None:
            self._wants_turn = self._feed.advance()
            if leading is not None and self._feed.position > leading.epoch_start and not self._wants_turn:
                out += self._activate(leading.epoch, now, wall)
        return out

    def _activate(self, epoch: Epoch, now: Instant, wall: WallClock) -> list[NodeEffect]:
        feed = self._feed
        writer = LogWriter(
            epoch,
            feed.image,
            feed.position,
            feed.last_timestamp,
            feed.replayed_bytes,
            self.config.append_linger_s,
            feed.elections,
            min(self.config.raft.fetch_max_bytes, self._segment_bytes),
        )
        writer.skip_to(self.meta.end_offset)
        self._active = ActiveController(writer, self._service, self.meta, self._contexts, self.counters)
        records = self._service.activate(feed.image, now)
        if records:
            writer.write(records, now, wall)
        return [Log("info", f"active controller of epoch {epoch} from offset {feed.position}")]

    def _deactivate(self, active: ActiveController) -> list[NodeEffect]:
        """Uncommitted images go; the feed continues where the committed one ends."""
        writer, self._active = active.writer, None
        self._feed.restart(
            writer.committed_image, writer.committed_offset, writer.committed_timestamp, writer.committed_bytes
        )
        self._service.deactivate()
        refused = [self._refuse(asker) for asker in active.take_askers()]
        return [*refused, Log("info", f"no longer the active controller of epoch {writer.epoch}")]

    def _flush(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return [] if self._active is None else self._active.flush(now, wall)

    def _register(self, now: Instant) -> list[NodeEffect]:
        """Tell the active controller who this one is."""
        replica = self.meta.replica
        endpoint = replica.leader_endpoint(self.config.raft.listener)
        if replica.leader_id is None or replica.is_leader or endpoint is None:
            self._registrar.rest()
            return []
        return self._registrar.poll(self.image, endpoint, now)
