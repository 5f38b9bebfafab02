"""What a broker does besides following the metadata log: it serves clients and keeps the controller informed.

One object for a broker-only process and for one that is a controller too: whoever owns the metadata log tells it about
every new image, about requests on the broker's listeners, about its calls' answers and about its data plane. It hands
back effects; requests that only the controller can decide are forwarded, the rest is answered from the image or from
partitions led here.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import assert_never

from controller_runtime.broker.cluster_view import View, describe_cluster, metadata
from controller_runtime.broker.lifecycle import BrokerIdentity, BrokerLifecycle, Fatal, State
from controller_runtime.broker.topic_partitions import describe_topic_partitions
from controller_runtime.controller.describe_configs import describe_configs
from controller_runtime.controller.forwarded_configs import judge
from controller_runtime.identifiers import BrokerEpoch, Endpoint, Instant, Offset, WallClock
from controller_runtime.metadata.broker_configs import NodeRules, OwnConfigs, without_effect
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.api_versions import api_versions
from controller_runtime.node.broker_directories import DirectoryAssignments
from controller_runtime.node.broker_effects import (
    BrokerEffect,
    BrokerEvent,
    PartitionFailed,
    PartitionOpened,
    PartitionWritten,
    RecordsRead,
    TimestampFound,
)
from controller_runtime.node.broker_fetch import FetchHandler
from controller_runtime.node.broker_forwarding import Forwarder
from controller_runtime.node.broker_offsets import OffsetsHandler
from controller_runtime.node.broker_partitions import LocalPartitions
from controller_runtime.node.broker_produce import ProduceHandler
from controller_runtime.node.broker_producer_ids import ProducerIds
from controller_runtime.node.effects import Call, CloseConnection, Log, NodeEffect, Respond, Stop
from controller_runtime.node.events import CallFailure, CallId, ConnectionId, RequestReceived
from controller_runtime.node.faults import FailedRequests
from controller_runtime.node.metadata_replica import CallIds
from controller_runtime.node.pending import Asker
from controller_runtime.protocol.api_keys import Role, api
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsRequest
from controller_runtime.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.list_offsets_request import ListOffsetsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field, replace

HEARTBEAT_CHANNEL = "heartbeat"
_CALL_TIMEOUT_MS = 4_500
"""Half of the default session: one lost request does not fence the broker."""

_MAX_WARNINGS = 20
"""Of configurations without effect, told for one change."""

Effects = list[NodeEffect | BrokerEffect]


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Everything a broker is told at start."""

    identity: BrokerIdentity
    auto_create_topics: bool = True
    node_configs: Mapping[str, str] = field(default_factory=dict)
    """The lines of its configuration file."""
    rules: NodeRules = NodeRules()
    """What it knows of names of configurations."""


class BrokerService:
    def __init__(self, config: BrokerConfig, calls: CallIds, now: Instant) -> None:
        self.config = config
        node_id = config.identity.node_id
        self.lifecycle = BrokerLifecycle(config.identity, now)
        self.partitions = LocalPartitions(node_id, config.node_configs)
        self._own = OwnConfigs(node_id, config.node_configs, config.rules)
        self._calls = calls
        self.faults = FailedRequests()
        self._produce = ProduceHandler(self.partitions, self.faults)
        self._fetch = FetchHandler(self.partitions, self.faults)
        self._offsets = OffsetsHandler(self.partitions)
        self._forwarder = Forwarder(f"broker-{node_id}", calls, self.faults)
        self._producer_ids = ProducerIds(node_id, calls)
        self._directories = DirectoryAssignments(node_id, calls)
        self._beat: CallId | None = None
        self._image = MetadataImage.empty()
        self._image_end = Offset(0)
        self._kraft_version = 0
        self._controller: Endpoint | None = None
        self._said = State.STARTING
        self._told: str | None = None
        self._faulted = False

    @property
    def epoch(self) -> BrokerEpoch:
        return self.lifecycle.epoch

    @property
    def is_serving(self) -> bool:
        """Registered, caught up and unfenced: what readiness means."""
        return self.lifecycle.state is State.RUNNING and not self.lifecycle.fenced

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
        wall: WallClock,
    ) -> Effects:
        """The newest committed image, where it ends, and where the active controller is reached now."""
        self._kraft_version, self._controller = kraft_version, controller
        if end_offset != self._image_end:
            self._image_end = end_offset
            self.lifecycle.metadata_advanced(now)
        if image is self._image:
            return []
        before, self._image = self._image, image
        warnings = [] if image.configs is before.configs else without_effect(before.configs, image.configs, self._own)
        logs = [Log("warning", text) for text in islice(warnings, _MAX_WARNINGS)]
        return [*logs, *self.partitions.on_image(image), *self._produce.poll(), *self._produce.retry_early(wall)]

    def next_deadline(self) -> Instant | None:
        wanted = (
            self.lifecycle.next_deadline(),
            self._fetch.next_deadline(),
            self._forwarder.next_deadline(reachable=self._controller is not None),
            self._producer_ids.next_deadline(),
            self._directories.next_deadline(),
        )
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, now: Instant) -> Effects:
        """After every event: send what is due, answer what is ripe."""
        out: Effects = [*self._fetch.on_time(now)]
        out += self._forwarder.poll(self._controller, now)
        out += self._producer_ids.poll(self._controller, self.epoch, now)
        out += self._directories.poll(self._image, self._controller, self.epoch, now)
        out += self._send_beat(now)
        if self.lifecycle.state is not self._said:
            self._said = self.lifecycle.state
            out.append(Log("info", f"broker is {self._said.name} (epoch {self.epoch})"))
        return out

    def shut_down(self, now: Instant) -> None:
        self.lifecycle.shut_down(now)

    def on_connection_closed(self, connection_id: ConnectionId) -> None:
        self._fetch.on_closed(connection_id)

    # Calls.

    def owns(self, call_id: CallId) -> bool:
        others = (self._forwarder, self._producer_ids, self._directories)
        return call_id == self._beat or any(other.owns(call_id) for other in others)

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
        self._beat = None
        match body:
            case BrokerRegistrationResponse():
                fatal = self._fatal(self.lifecycle.on_registration(body, now))
                return [*self._tell_refusal(), *fatal]
            case BrokerHeartbeatResponse():
                self.lifecycle.on_heartbeat(body, now)
            case _:
                self.lifecycle.failed(now)
        return []

    def _tell_refusal(self) -> Effects:
        """Each reason once: registration is tried again several times a second."""
        refusal = self.lifecycle.last_refusal
        if refusal is None or refusal == self._told:
            return []
        self._told = refusal
        return [Log("warning", f"registration as broker {self.config.identity.node_id}: {refusal}")]

    def on_failure(self, call_id: CallId, why: CallFailure, now: Instant) -> Effects:
        if self._forwarder.owns(call_id):
            return [*self._forwarder.on_failure(call_id, why, now)]
        if self._producer_ids.owns(call_id):
            self._producer_ids.on_failure(now)
            return []
        if self._directories.owns(call_id):
            self._directories.done(now)
            return []
        self._beat = None
        self.lifecycle.failed(now)
        return []

    def _send_beat(self, now: Instant) -> Effects:
        if self._faulted:
            return []
        due = self.lifecycle.poll(Offset(self._image_end - 1), now, reachable=self._controller is not None)
        if due is None or isinstance(due, Fatal):
            return self._fatal(due)
        assert self._controller is not None, "it is reachable"
        self._beat = self._calls.next()
        return [Call(self._beat, HEARTBEAT_CHANNEL, self._controller, due, _CALL_TIMEOUT_MS)]

    def _fatal(self, fatal: Fatal | None) -> Effects:
        if fatal is None or self._faulted:
            return []
        self._faulted = True
        return [Stop(fatal.reason, fault=True)]

    # The data plane.

    def on_data(self, event: BrokerEvent, now: Instant, wall: WallClock) -> Effects:
        match event:
            case PartitionOpened():
                self.partitions.on_opened(event)
                self._directories.opened(event.key, event.directory_id)
                return self._produce.retry_early(wall)
            case PartitionFailed(_, reason, fatal):
                self.partitions.on_failed(event)
                if fatal:
                    return self._fatal(Fatal(f"a partition's log failed: {reason}"))
                offline = Log("error", f"a partition is offline: {reason}")
                return [offline, *self._produce.poll(), *self._produce.retry_early(wall)]
            case PartitionWritten(key, end_offset):
                self.partitions.written(key, end_offset)
                return [*self._produce.poll(), *self._fetch.on_written(key, now)]
            case RecordsRead():
                return self._fetch.on_read(event, now)
            case TimestampFound():
                return self._offsets.on_found(event)
            case _ as unknown:
                assert_never(unknown)

    # Requests.

    def on_request(self, event: RequestReceived, now: Instant, wall: WallClock) -> Effects:
        try:
            return self._on_request(event, now, wall)
        except Exception as error:
            asker = Asker(event.request_id, event.body, None, event.connection.connection_id)
            return [*self.faults.fail(asker, "served", error)]

    def _on_request(self, event: RequestReceived, now: Instant, wall: WallClock) -> Effects:
        match event.body:
            case ProduceRequest() as produce:
                return self._produce.on_request(event, produce, wall)
            case FetchRequest() as fetch:
                return self._fetch.on_request(event, fetch, now)
            case ListOffsetsRequest() as listing:
                return self._offsets.on_request(event, listing)
            case InitProducerIdRequest() as init:
                return [*self._producer_ids.on_request(event.request_id, init)]
            case MetadataRequest() as asked:
                return self._on_metadata(event, asked, now)
            case IncrementalAlterConfigsRequest() as altering:
                return [*self._on_alter_configs(event, altering, now)]
            case _ if (answer := self._answer(event)) is not None:
                return [Respond(event.request_id, answer)]
            case body if body.KEY is not None and api(body.KEY).is_forwardable:
                return [*self._forwarder.forward(event, now)]
            case _:
                return [CloseConnection(event.connection.connection_id)]

    def _answer(self, event: RequestReceived) -> Message | None:
        """What the image alone can answer."""
        match event.body:
            case ApiVersionsRequest() as request:
                return api_versions(
                    request, event.api_version, Role.BROKER, self._image, self._kraft_version, self._image_end
                )
            case DescribeClusterRequest() as request:
                return describe_cluster(self._view(event), request)
            case DescribeConfigsRequest() as request:
                return describe_configs(self._image, request, self._own)
            case DescribeTopicPartitionsRequest() as request:
                return describe_topic_partitions(self._view(event), request)
            case OffsetForLeaderEpochRequest() as request:
                return self._offsets.epoch_ends(request)
            case _:
                return None

    def _on_metadata(self, event: RequestReceived, asked: MetadataRequest, now: Instant) -> Effects:
        answer, missing = metadata(self._view(event), asked, event.api_version)
        if missing and self.config.auto_create_topics:
            self._forwarder.create_topics(missing, now)
        return [Respond(event.request_id, answer)]

    def _on_alter_configs(
        self, event: RequestReceived, request: IncrementalAlterConfigsRequest, now: Instant
    ) -> list[NodeEffect]:
        judged = judge(self._image, request, self._own)
        if not judged.answered:
            return self._forwarder.forward(event, now)
        if (rest := judged.rest) is None:
            return [Respond(event.request_id, judged.answer())]
        return self._forwarder.forward(replace(event, body=rest, frame=None), now, judged.answer)

    def _view(self, event: RequestReceived) -> View:
        identity = self.config.identity
        return View(self._image, identity.cluster_id, event.connection.listener, identity.node_id)
