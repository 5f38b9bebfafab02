"""What a broker does besides following the metadata log: it serves clients and keeps the controller informed.

One object for a broker-only process and for one that is a controller too: whoever owns the metadata log tells it about
every new image, about requests on the broker's listeners, about its calls' answers and about its data plane. It hands
back effects; requests that only the controller can decide are forwarded, the rest is answered from the image or from
partitions led here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from controller_runtime.answers.cordoned_directories import cordoned_directories
from controller_runtime.broker.broker_config import BrokerConfig
from controller_runtime.broker.coordinators import Around, Coordinators
from controller_runtime.broker.delete_records import RecordDeletions
from controller_runtime.broker.directory_assignments import DirectoryAssignments
from controller_runtime.broker.directory_moves import DirectoryMoves
from controller_runtime.broker.effects import BrokerEvent
from controller_runtime.broker.errands import ClientsRequest, refuse
from controller_runtime.broker.fetch import FetchHandler
from controller_runtime.broker.fetch_sessions import FetchSessionCache
from controller_runtime.broker.forwarding import Forwarder
from controller_runtime.broker.in_sync import InSync
from controller_runtime.broker.late_admission import admission
from controller_runtime.broker.lifecycle import BrokerLifecycle, Fatal, State
from controller_runtime.broker.lifecycle_calls import LifecycleCalls
from controller_runtime.broker.local_changes import LocalChanges
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.log_directories import LogDirectories
from controller_runtime.broker.log_events import LogEvents
from controller_runtime.broker.long_answers import Effects, LongAnswers
from controller_runtime.broker.offsets import OffsetsHandler
from controller_runtime.broker.produce import ProduceHandler
from controller_runtime.broker.producer_ids import ProducerIds
from controller_runtime.broker.replica_fetchers import ReplicaFetchers
from controller_runtime.broker.replication.throttles import Throttles
from controller_runtime.broker.request_handlers import Answerers, RequestHandlers
from controller_runtime.broker.session_fetches import SessionFetches
from controller_runtime.broker.share_facts import ShareFacts
from controller_runtime.identifiers import BrokerEpoch, Endpoint, Instant, Offset, Uuid, WallClock
from controller_runtime.metadata.broker_configs import OwnConfigs, without_effect
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import CloseConnection, Log
from controller_runtime.parts.events import (
    CallFailure,
    CallId,
    ConnectionId,
    ConnectionInfo,
    RequestReceived,
    UnreadRequest,
)
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_partition_response import AlterPartitionResponse
from controller_runtime.protocol.schema import Message

_MAX_WARNINGS = 20
"""Of configurations without effect, for one change."""


class BrokerService:
    def __init__(self, config: BrokerConfig, calls: CallIds, new_uuid: Callable[[], Uuid], now: Instant) -> None:
        self.config = config
        node_id = config.identity.node_id
        self.lifecycle = BrokerLifecycle(config.identity, now)
        self.partitions = LocalPartitions(node_id, config.node_configs, now, config.replica_lag_s)
        self.changes = LocalChanges(self.partitions, node_id)
        self._own = OwnConfigs(node_id, config.node_configs, config.rules)
        self.faults = FailedRequests()
        self._long = LongAnswers(self.faults)
        self._produce = ProduceHandler(self.partitions, self.faults, self._long)
        throttles = Throttles(lambda: self.partitions.image.configs, node_id, config.throttle_samples)
        self._deletions = RecordDeletions(self.partitions)
        self._in_sync = InSync(
            node_id, self.partitions, calls, now, throttle=throttles.leader, deletions=self._deletions
        )
        listener, pace, slow = config.inter_broker_listener, config.replica_fetch, throttles.follower
        self._fetchers = ReplicaFetchers(
            node_id, self.partitions, calls, self.faults, listener=listener, settings=pace, throttle=slow
        )
        self._fetch = FetchHandler(self.partitions, self._long, self._in_sync, sends_near=config.near_to)
        self.sessions = SessionFetches(FetchSessionCache(config.fetch_session_slots, new_uuid), self._long)
        self._offsets = OffsetsHandler(self.partitions)
        self._forwarder = Forwarder(f"broker-{node_id}", calls, self.faults)
        self._producer_ids = ProducerIds(node_id, calls)
        self._coordinators = Coordinators(self._around_coordinators(calls, new_uuid), config.node_configs)
        assignments = DirectoryAssignments(node_id, calls)
        self._directories = DirectoryMoves(self.partitions, assignments, node_id, throttles.directories)
        self._lifecycle_calls = LifecycleCalls(node_id, self.lifecycle, calls)
        self._image, self._image_end = MetadataImage.empty(), Offset(0)
        self._controller: Endpoint | None = None
        self._said, self._changed_last = State.STARTING, False
        paths, offline = config.directory_paths, config.offline_directories
        self._log_directories = LogDirectories(self.partitions, paths, self._long, offline)
        self._logs = LogEvents(
            self.partitions,
            self.changes,
            self.lifecycle,
            self._directories,
            self._log_directories,
            produce=self._produce,
            fetch=self._fetch,
            offsets=self._offsets,
            deletions=self._deletions,
            groups=self._coordinators,
            metadata_directory=config.metadata_directory,
        )
        self._handlers = self._request_handlers(config)
        self.admission = admission(config.security.authorizer, config.auto_create_topics, self._long)
        self._cordon(self._image, now)

    def _around_coordinators(self, calls: CallIds, new_uuid: Callable[[], Uuid]) -> Around:
        return Around(
            node_id=self.config.identity.node_id,
            partitions=self.partitions,
            produce=self._produce,
            producer_ids=self._producer_ids,
            forwarder=self._forwarder,
            long=self._long,
            faults=self.faults,
            calls=calls,
            listener=self.config.inter_broker_listener,
            new_uuid=new_uuid,
            version=lambda: self._image_end,
            may_describe=self._may_describe,
            may_create=self._may_create,
            may_read=self._may_read,
        )

    def _may_describe(self, connection: ConnectionInfo, topic: str) -> bool:
        return self.admission is None or self.admission.may_describe(connection, topic, self._image)

    def _may_create(self, connection: ConnectionInfo, topics: list[str]) -> list[str]:
        return topics if self.admission is None else self.admission.may_create(connection, topics, self._image)

    def _may_read(self, connection: ConnectionInfo, topic: str) -> bool:
        return self.admission is None or self.admission.may_read(connection, topic, self._image)

    def _request_handlers(self, config: BrokerConfig) -> RequestHandlers:
        parts = Answerers(
            partitions=self.partitions,
            long=self._long,
            fetch=self._fetch,
            offsets=self._offsets,
            deletions=self._deletions,
            forwarder=self._forwarder,
            log_directories=self._log_directories,
            moves=self._directories,
            coordinators=self._coordinators,
        )
        return RequestHandlers(
            parts, config.identity, self._own, config.security, auto_create_topics=config.auto_create_topics
        )

    @property
    def epoch(self) -> BrokerEpoch:
        return self.lifecycle.epoch

    @property
    def is_serving(self) -> bool:
        """Registered, caught up and unfenced: what readiness means."""
        return self.lifecycle.state is State.RUNNING and not self.lifecycle.fenced

    @property
    def has_caught_up(self) -> bool:
        """Its image is not older than its registration in this run."""
        return self.lifecycle.state is not State.STARTING

    @property
    def has_left(self) -> bool:
        """The controlled shutdown is over."""
        return self.lifecycle.state is State.STOPPED

    # What happens around it.

    def metadata_moved(
        self,
        image: MetadataImage,
        end_offset: Offset,
        kraft_version: int,
        controller: Endpoint | None,
        now: Instant,
    ) -> Effects:
        """The newest committed image, where it ends, and where the active controller is reached now."""
        self._controller = controller
        self._handlers.see(image, end_offset, kraft_version)
        if end_offset != self._image_end:
            self._image_end = end_offset
            self.lifecycle.metadata_advanced(image, now)
        if image is self._image:
            return []
        before, self._image = self._image, image
        warnings: Iterable[str] = ()
        if image.configs is not before.configs:
            warnings = without_effect(before.configs, image.configs, self._own)
            self._cordon(image, now)
        self.changes.on_image(image)
        return [Log("warning", text) for text in islice(warnings, _MAX_WARNINGS)]

    def _cordon(self, image: MetadataImage, now: Instant) -> None:
        """Before anything of this image is placed."""
        cordoned = cordoned_directories(image.configs, self._own, self.config.named_directories)
        self.partitions.cordoned = cordoned
        self.lifecycle.cordon(cordoned, now)

    @property
    def share_facts(self) -> ShareFacts:
        return self._coordinators.share_facts

    @property
    def has_more_to_do(self) -> bool:
        """Something is done in pieces, one in each step."""
        return self.changes.is_behind or len(self._long) > 0 or self._coordinators.has_more_to_do

    def next_deadline(self) -> Instant | None:
        if self.has_more_to_do:
            return Instant(0.0)  # another turn
        wanted = (
            self.lifecycle.next_deadline(),
            self._produce.next_deadline(),
            self._fetch.next_deadline(),
            self._deletions.next_deadline(),
            self._forwarder.next_deadline(reachable=self._controller is not None),
            self._producer_ids.next_deadline(),
            self._directories.next_deadline(),
            self._in_sync.next_deadline(),
            self._fetchers.next_deadline(),
            self._log_directories.next_deadline(),
            self._coordinators.next_deadline(),
        )
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        """After every event: send what is due, answer what is ripe."""
        self.partitions.now = now
        out = self._go_on(now, wall)
        if self._logs.recover(now):
            out += self._logs.go_on(now, wall)
        out += [*self._produce.on_time(now, wall), *self._fetch.on_time(now)]
        out += self._log_directories.on_time(now)
        out += self._coordinators.poll(now, wall)
        out += self._forwarder.poll(self._controller, now)
        out += self._producer_ids.poll(self._controller, self.epoch, now)
        out += self._directories.poll(self._image, self._controller, self.epoch, now)
        out += self._in_sync.poll(self._controller, self.epoch, now)
        out += self._fetchers.poll(self._image, self.epoch, now)
        out += self._logs.serve_changed(now, wall)
        out += self._deletions.on_time(now)
        out += self._lifecycle_calls.poll(Offset(self._image_end - 1), self._controller, now)
        if self.lifecycle.state is not self._said:
            self._said = self.lifecycle.state
            out.append(Log("info", f"broker is {self._said.name} (epoch {self.epoch})"))
        return out

    def _go_on(self, now: Instant, wall: WallClock) -> Effects:
        """One piece of what takes long: in turns, what changes here and what is to be answered."""
        self._changed_last = self.changes.is_behind and not (self._changed_last and len(self._long))
        out = self._logs.go_on(now, wall) if self._changed_last else self._long.go_on(now, wall)
        self._long.begin_step()
        return out

    def shut_down(self, now: Instant) -> None:
        self.lifecycle.shut_down(now)

    def on_connection_closed(self, connection_id: ConnectionId, now: Instant, wall: WallClock) -> Effects:
        if self.admission is not None:
            self.admission.on_closed(connection_id)
        self.sessions.on_closed(connection_id)
        self._long.closed(connection_id)
        shared = self._coordinators.on_closed(connection_id)
        self._deletions.on_closed(connection_id)
        return [*shared, *self._produce.on_closed(connection_id, now, wall), *self._fetch.on_closed(connection_id)]

    # Calls.

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        """An answer that cannot be judged is none: the call has failed."""
        try:
            return self._on_answer(call_id, body, now)
        except Exception as error:
            failed = self.faults.count(body.KEY, "answered by a peer", error)
            return [failed, *self.on_failure(call_id, CallFailure.MALFORMED, now)]

    def _on_answer(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        if self._forwarder.owns(call_id):
            return [*self._forwarder.on_response(call_id, body, now)]
        if self._producer_ids.owns(call_id):
            return [*self._producer_ids.on_response(body, now)]
        if self._directories.owns(call_id):
            self._directories.done(now)
            return []
        if self._in_sync.changes.owns(call_id):
            assert isinstance(body, AlterPartitionResponse), "it answers AlterPartition"
            self._in_sync.changes.on_response(body, now)
            return []
        if self._fetchers.owns(call_id):
            self._fetchers.on_response(call_id, body, now)
            return []
        if self._coordinators.owns_call(call_id):
            return self._coordinators.on_response(call_id, body, now)
        return self._lifecycle_calls.on_response(body, now)

    def on_failure(self, call_id: CallId, why: CallFailure, now: Instant) -> Effects:
        if self._forwarder.owns(call_id):
            return [*self._forwarder.on_failure(call_id, why, now)]
        for asks in (self._producer_ids, self._in_sync.changes):
            if asks.owns(call_id):
                asks.on_failure(now)
                return []
        if self._directories.owns(call_id):
            self._directories.done(now)
            return []
        if self._fetchers.owns(call_id):
            self._fetchers.on_failure(call_id, now)
            return []
        if self._coordinators.owns_call(call_id):
            return self._coordinators.on_failure(call_id, now)
        self._lifecycle_calls.on_failure(now)
        return []

    # The data plane.

    def on_data(self, event: BrokerEvent, now: Instant, wall: WallClock) -> Effects:
        self.partitions.now = now
        found = self._logs.on_event(event, now, wall)
        return self._lifecycle_calls.end(found) if isinstance(found, Fatal) else found

    # Requests.

    def on_request(self, event: RequestReceived, now: Instant, wall: WallClock) -> Effects:
        try:
            return self._on_request(event, now, wall)
        except Exception as error:
            asker = Asker(event.request_id, event.body, None, event.connection.connection_id)
            return [*self.faults.fail(asker, "served", error)]

    def _on_request(self, event: RequestReceived, now: Instant, wall: WallClock) -> Effects:
        self.partitions.now = now
        handler = self._handlers.by_key.get(event.api_key)
        if handler is None:
            return [CloseConnection(event.connection.connection_id)]
        admission = self.admission
        serve = handler if admission is None else admission.guarded(handler, self._image)
        if event.api_key == ApiKey.FETCH:
            return self.sessions.on_request(event, serve, now, wall)
        return serve(event, event.body, now, wall)

    def completed(self, effects: Effects, now: Instant, wall: WallClock) -> Effects:
        """What leaves, with answers as those who asked want them: whole where the authorizer let a part be served,
        and in a fetch session only what is new.
        """
        if self.admission is not None:
            effects = self.admission.completed(effects, now, wall)
        return self.sessions.completed(effects, now, wall)

    @property
    def handled(self) -> frozenset[int]:
        """The keys that have a handler: those of the broker's table that it reads (a test compares them)."""
        return frozenset(self._handlers.by_key)

    def on_unread(self, request: UnreadRequest, now: Instant) -> Effects:
        """What only the active controller can read and decide."""
        try:
            return self._forwarder.forward(request, now)
        except Exception as error:
            said = self.faults.count(request.api_key, "forwarded", error)
            words = "the broker failed to forward it"
            return [said, *refuse(ClientsRequest(request), ErrorCode.UNKNOWN_SERVER_ERROR, words, self.faults)]
