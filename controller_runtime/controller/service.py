"""The active controller: request + image -> records + response, and the periodic work, as deadlines.

It knows no raft, disk or socket. Its caller gives it the newest image (uncommitted changes included), replays and
appends the records it returns, and lets responses leave when they are committed. The only state kept here is soft: when
each broker was last heard of, and when the periodic work is due. It is made anew by `activate` and dropped by
`deactivate`; everything else is in the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from controller_runtime.answers.config_changes import Request as AlterConfigs
from controller_runtime.answers.describe_configs import describe_configs
from controller_runtime.answers.refused import Refused
from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.controller.activation import DEFAULT_MIN_INSYNC_REPLICAS, activation_records
from controller_runtime.controller.brokers import (
    fence_silent_broker,
    heartbeat,
    register_broker,
    settled_heartbeat,
    unregister_broker,
)
from controller_runtime.controller.configs import MIN_INSYNC_REPLICAS, alter_configs
from controller_runtime.controller.controllers import describe_cluster, register_controller
from controller_runtime.controller.decision import Decision, Pieces, RequestContext, at_once
from controller_runtime.controller.directories import assign_replicas
from controller_runtime.controller.elections import elect_leaders
from controller_runtime.controller.feature_updates import update_features
from controller_runtime.controller.heartbeats import Heartbeats
from controller_runtime.controller.isr_changes import alter_partitions
from controller_runtime.controller.mutation_quota import MutationQuota, MutationQuotas
from controller_runtime.controller.own_work import AGAIN_AFTER_S, OwnWork
from controller_runtime.controller.partition_growth import create_partitions
from controller_runtime.controller.patience import patience_s
from controller_runtime.controller.placement import Placer
from controller_runtime.controller.producer_ids import allocate_producer_ids
from controller_runtime.controller.reassignments import alter_reassignments, list_reassignments
from controller_runtime.controller.security_requests import SecurityHandler, SecurityRequests
from controller_runtime.controller.topic_deletion import delete_topics, many_are_named
from controller_runtime.controller.topics import ShownConfigs, TopicDefaults, TopicIds, plan_topics, takes_long
from controller_runtime.identifiers import Instant, NodeId, Offset, WallClock
from controller_runtime.metadata.broker_configs import NodeRules, OwnConfigs
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.api_table import CONTROLLER, Where, answered_at
from controller_runtime.parts.chance import Chance
from controller_runtime.parts.events import ConnectionId
from controller_runtime.parts.pieces import InPieces, whole
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
)
from controller_runtime.protocol.messages.alter_partition_request import AlterPartitionRequest
from controller_runtime.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from controller_runtime.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from controller_runtime.protocol.messages.create_partitions_request import CreatePartitionsRequest
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsRequest
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest
from controller_runtime.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.update_features_request import UpdateFeaturesRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

SERVED_BY_ANY: Final = answered_at(Where.ANY)
"""Reads that every controller answers from its own image, leading or not."""

SERVED_BY_ACTIVE: Final = answered_at(Where.ACTIVE)
"""Only between `activate` and `deactivate`; elsewhere the caller answers `refusal(request, NOT_CONTROLLER, ...)`."""

SERVED: Final = SERVED_BY_ANY | SERVED_BY_ACTIVE

_IN_PIECES: Final = frozenset(key for key, row in CONTROLLER.items() if row.in_pieces)

FENCE_CHECKS_PER_SESSION: Final = 8
"""So often at least it is looked for silent brokers, and once more when the next session ends."""


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """What the active controller needs to know that is not in the log."""

    node_id: NodeId
    cluster_id: str
    bootstrap_records: tuple[VersionedRecord, ...]
    """From bootstrap.checkpoint: metadata.version first. Written on the first activation of an empty log."""
    broker_session_timeout_s: float = 9.0
    heartbeat_interval_s: float = 2.0
    """Of this node's own file; brokers are taken to be alike."""
    no_op_interval_s: float = 0.5
    rebalance_interval_s: float | None = 300.0
    """How often partitions are given back to their preferred leaders; None: never."""
    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    node_configs: Mapping[str, str] = field(default_factory=dict)
    """What this node's configuration file sets, for DescribeConfigs and the effective values of topics."""
    security: SecurityRules = SecurityRules()
    mutation_window_s: float = 11.0
    """What a client may save of its `controller_mutation_rate`."""
    rules: NodeRules = NodeRules()
    static_voters: frozenset[NodeId] = frozenset()  # of controller.quorum.voters


@dataclass(slots=True)
class _Leadership:
    """What lives as long as this node leads."""

    heartbeats: Heartbeats
    no_op_due: Instant
    fencing_due: Instant
    own_work: OwnWork


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a handler gets beside the request."""

    image: MetadataImage
    context: RequestContext
    now: Instant
    quota: MutationQuota


Handler = Callable[[_Asked, Any], "Decision | Pieces"]
"""Each takes the request of its own API."""


def _about_security(handle: SecurityHandler) -> Handler:
    return lambda asked, request: handle(asked.image, asked.context, request)


class ControllerService:
    def __init__(self, config: ControllerConfig, chance: Chance) -> None:
        self._config = config
        self._chance = chance
        self._leadership: _Leadership | None = None
        self._topic_defaults = TopicDefaults(
            num_partitions=config.num_partitions,
            replication_factor=config.default_replication_factor,
            shown=ShownConfigs(config.node_id, config.node_configs),
            placer=Placer(chance.below),
        )
        self._quotas = MutationQuotas(config.mutation_window_s)
        self._security = SecurityRequests(config.security, chance)
        self._handlers: Final[dict[int, Handler]] = {
            ApiKey.DESCRIBE_CLUSTER: self._describe_cluster,
            ApiKey.DESCRIBE_CONFIGS: self._describe_configs,
            ApiKey.BROKER_HEARTBEAT: self._heartbeat,
            ApiKey.BROKER_REGISTRATION: self._register_broker,
            ApiKey.UNREGISTER_BROKER: self._unregister_broker,
            ApiKey.CONTROLLER_REGISTRATION: self._register_controller,
            ApiKey.ALTER_CONFIGS: self._alter_configs,
            ApiKey.INCREMENTAL_ALTER_CONFIGS: self._alter_configs,
            ApiKey.CREATE_TOPICS: self._create_topics,
            ApiKey.DELETE_TOPICS: self._delete_topics,
            ApiKey.ALLOCATE_PRODUCER_IDS: self._allocate_producer_ids,
            ApiKey.ASSIGN_REPLICAS_TO_DIRS: self._assign_replicas,
            ApiKey.UPDATE_FEATURES: self._update_features,
            ApiKey.CREATE_PARTITIONS: self._create_partitions,
            ApiKey.ELECT_LEADERS: self._elect_leaders,
            ApiKey.ALTER_PARTITION: self._alter_partitions,
            ApiKey.ALTER_PARTITION_REASSIGNMENTS: self._alter_reassignments,
            ApiKey.LIST_PARTITION_REASSIGNMENTS: self._list_reassignments,
            **{key: _about_security(handle) for key, handle in self._security.handlers.items()},
        }

    @property
    def handled(self) -> frozenset[int]:
        """The keys that have a handler: those of SERVED (a test compares them)."""
        return frozenset(self._handlers)

    def silences(self, now: Instant) -> dict[NodeId, float]:
        """Seconds since each broker's last heartbeat; nothing when another controller is active."""
        return self._leadership.heartbeats.silences(now) if self._leadership else {}

    def activate(self, image: MetadataImage, now: Instant) -> tuple[VersionedRecord, ...]:
        """Begin to lead with the whole log replayed into `image`. The records, if any, become one atomic batch, before
        all others.
        """
        assert self._leadership is None, "this controller is active already"
        self._leadership = _Leadership(
            heartbeats=Heartbeats.begin(image.stable, now, self._config.broker_session_timeout_s),
            no_op_due=Instant(now + self._config.no_op_interval_s),
            fencing_due=self._next_fencing(now),
            own_work=OwnWork(
                self._security.expired_tokens,
                self._config.rebalance_interval_s,
                self._config.security.token_check_interval_s,
                now,
            ),
        )
        return activation_records(image, self._config.bootstrap_records, self._min_insync_replicas())

    def deactivate(self) -> None:
        """Leadership is lost: forget soft state."""
        self._leadership = None

    def handle(self, image: MetadataImage, request: Message, context: RequestContext, now: Instant) -> Decision:
        """Answer one request whose key is in SERVED. What is wrong with it is in the answer, never raised."""
        quota = self._quotas.of(image.client_quotas, request, context, now)
        try:
            made = self._decide(image, request, context, now, quota)
            decision = made if isinstance(made, Decision) else at_once(made, context.next_offset)
        except Refused as error:
            decision = Decision(refusal(request, error.code, error.message))
        return quota.said_in(decision) if quota.throttle_ms else decision

    def settled(
        self, image: MetadataImage, request: Message, now: Instant, connection_id: ConnectionId | None = None
    ) -> Decision | None:
        """The answer to a heartbeat that changes nothing: it waits for no other decision. None to everything else."""
        if self._leadership is None or not isinstance(request, BrokerHeartbeatRequest):
            return None
        return settled_heartbeat(image, request, self._leadership.heartbeats, now, connection_id)

    def comes_in_pieces(self, request: Message) -> bool:
        """Whether a request that is not `settled` is decided by `plan`, because it may touch many partitions."""
        if isinstance(request, CreateTopicsRequest):
            return takes_long(request, self._config.num_partitions)
        if isinstance(request, DeleteTopicsRequest):
            return many_are_named(request)
        return request.KEY in _IN_PIECES

    def plan(self, image: MetadataImage, request: Message, context: RequestContext, now: Instant) -> Pieces:
        """What `handle` answers, in pieces; `image` has to stay the newest, but for these pieces, until the end."""
        quota = self._quotas.of(image.client_quotas, request, context, now)
        try:
            made = self._decide(image, request, context, now, quota)
            decision = made if isinstance(made, Decision) else (yield from made)
        except Refused as error:
            decision = Decision(refusal(request, error.code, error.message))
        return quota.said_in(decision) if quota.throttle_ms else decision

    def describe_configs(
        self, image: MetadataImage, request: DescribeConfigsRequest
    ) -> InPieces[NoReturn, DescribeConfigsResponse]:
        """What `handle` answers, in pieces."""
        return describe_configs(image, request, self._own_configs())

    def is_too_late(self, request: Message, waited_s: float) -> bool:
        """Nobody waits any more for the decision of a request that waited so long."""
        patience = patience_s(request, self._config.heartbeat_interval_s)
        return patience is not None and waited_s >= patience

    def hear(
        self, image: MetadataImage, request: Message, now: Instant, connection_id: ConnectionId | None = None
    ) -> None:
        """A request that is refused for lack of room: a heartbeat all the same shows that its broker lives."""
        if self._leadership is not None and isinstance(request, BrokerHeartbeatRequest):
            broker = image.cluster.brokers.get(NodeId(request.broker_id))
            if broker is not None and broker.epoch == request.broker_epoch:
                self._leadership.heartbeats.hear(broker, now, connection_id)

    def cut_off(self, connection_id: ConnectionId, now: Instant) -> None:
        """A broker that was heard of there last is fenced soon, unless it is heard of again."""
        leadership = self._leadership
        if leadership is not None and (ends := leadership.heartbeats.cut_off(connection_id, now)) is not None:
            leadership.fencing_due = min(leadership.fencing_due, ends)

    def _decide(
        self, image: MetadataImage, request: Message, context: RequestContext, now: Instant, quota: MutationQuota
    ) -> Decision | Pieces:
        key = request.KEY
        handler = None if key is None else self._handlers.get(key)
        assert handler is not None, f"{type(request).__name__} is not served by the controller"
        is_ready = self._leadership is not None or key in SERVED_BY_ANY
        assert is_ready, f"{type(request).__name__} asked of a controller that is not active"
        return handler(_Asked(image, context, now, quota), request)

    # The handlers, by name of the API.

    def _describe_cluster(self, asked: _Asked, request: DescribeClusterRequest) -> Decision:
        return Decision(describe_cluster(asked.image, request, asked.context, self._config.cluster_id))

    def _describe_configs(self, asked: _Asked, request: DescribeConfigsRequest) -> Decision:
        return Decision(whole(self.describe_configs(asked.image, request)))

    def _heartbeat(self, asked: _Asked, request: BrokerHeartbeatRequest) -> Decision | Pieces:
        return heartbeat(asked.image, request, asked.context, self._leading().heartbeats, asked.now)

    def _register_broker(self, asked: _Asked, request: BrokerRegistrationRequest) -> Decision | Pieces:
        heartbeats, cluster_id = self._leading().heartbeats, self._config.cluster_id
        return register_broker(
            asked.image, request, asked.context, cluster_id=cluster_id, heartbeats=heartbeats, now=asked.now
        )

    def _unregister_broker(self, asked: _Asked, request: UnregisterBrokerRequest) -> Decision | Pieces:
        return unregister_broker(asked.image, request, asked.context, self._leading().heartbeats)

    def _register_controller(self, asked: _Asked, request: ControllerRegistrationRequest) -> Decision:
        return register_controller(asked.image, request)

    def _alter_configs(self, asked: _Asked, request: AlterConfigs) -> Decision:
        return alter_configs(asked.image, request, self._own_configs(), forwarded=asked.context.forwarded)

    def _create_topics(self, asked: _Asked, request: CreateTopicsRequest) -> Pieces:
        ids = TopicIds(asked.image, self._chance.new_uuid)
        return plan_topics(asked.image, request, self._topic_defaults, ids, asked.quota)

    def _delete_topics(self, asked: _Asked, request: DeleteTopicsRequest) -> Pieces:
        enabled = self._config.delete_topic_enable
        return delete_topics(asked.image, request, asked.context.api_version, enabled=enabled, quota=asked.quota)

    def _allocate_producer_ids(self, asked: _Asked, request: AllocateProducerIdsRequest) -> Decision:
        return allocate_producer_ids(asked.image, request)

    def _assign_replicas(self, asked: _Asked, request: AssignReplicasToDirsRequest) -> Pieces:
        return assign_replicas(asked.image, request, asked.context)

    def _update_features(self, asked: _Asked, request: UpdateFeaturesRequest) -> Decision:
        least, voters = self._min_insync_replicas(), self._config.static_voters
        return update_features(asked.image, request, asked.context, self._config.node_id, least, static_voters=voters)

    def _create_partitions(self, asked: _Asked, request: CreatePartitionsRequest) -> Pieces:
        return create_partitions(asked.image, request, self._chance.below, asked.quota)

    def _elect_leaders(self, asked: _Asked, request: ElectLeadersRequest) -> Pieces:
        return elect_leaders(asked.image, request, asked.context)

    def _alter_partitions(self, asked: _Asked, request: AlterPartitionRequest) -> Pieces:
        return alter_partitions(asked.image, request, asked.context)

    def _alter_reassignments(self, asked: _Asked, request: AlterPartitionReassignmentsRequest) -> Pieces:
        return alter_reassignments(asked.image, request)

    def _list_reassignments(self, asked: _Asked, request: ListPartitionReassignmentsRequest) -> Decision:
        return Decision(list_reassignments(asked.image, request))

    def _leading(self) -> _Leadership:
        assert self._leadership is not None, "only the active controller decides this"
        return self._leadership

    def _min_insync_replicas(self) -> str:
        return self._config.node_configs.get(MIN_INSYNC_REPLICAS, DEFAULT_MIN_INSYNC_REPLICAS)

    def _own_configs(self) -> OwnConfigs:
        return OwnConfigs(self._config.node_id, self._config.node_configs, self._config.rules)

    def periodic(self, now: Instant) -> tuple[VersionedRecord, ...]:
        """NoOp records that are due. Calling early is harmless."""
        leadership = self._leadership
        if leadership is None or now < leadership.no_op_due:
            return ()
        leadership.no_op_due = Instant(now + self._config.no_op_interval_s)
        return ((NoOpRecord(), 0),)

    def own_work(self, image: MetadataImage, next_offset: Offset, now: Instant, wall: WallClock) -> Pieces | None:
        """What goes on by itself and may touch many partitions, one thing at a time; calling early is harmless.

        Nobody is answered. `image` has to stay the newest, as in `plan`.
        """
        leadership = self._leadership
        if leadership is None:
            return None
        silent = self.silent_broker(image, now)
        if silent is not None:
            return self.fence(image, silent, next_offset)
        return leadership.own_work.due(image, next_offset, now, wall)

    def silent_broker(self, image: MetadataImage, now: Instant) -> NodeId | None:
        """Whom to fence now, one at a time (CLU-09), if it is time to look. Calling early is harmless."""
        leadership = self._leadership
        if leadership is None or now < leadership.fencing_due:
            return None
        silent = leadership.heartbeats.stale_broker(image, now)
        soon = Instant(now + AGAIN_AFTER_S)
        if silent is not None:
            leadership.fencing_due = soon
            return silent.id
        session_ends = Instant(leadership.heartbeats.first_end(image))
        leadership.fencing_due = min(self._next_fencing(now), max(session_ends, soon))
        return None

    def fence(self, image: MetadataImage, broker_id: NodeId, next_offset: Offset) -> Pieces:
        """Nobody is answered. `image` has to stay the newest, as in `plan`."""
        assert self._leadership is not None, "only the active controller fences"
        return fence_silent_broker(image, self._leadership.heartbeats, broker_id, next_offset)

    def next_deadline(self) -> Instant | None:
        """When `periodic` or `own_work` wants to be called; None while inactive."""
        due = self._leadership
        return None if due is None else min(due.no_op_due, due.fencing_due, due.own_work.next_deadline())

    def _next_fencing(self, now: Instant) -> Instant:
        return Instant(now + self._config.broker_session_timeout_s / FENCE_CHECKS_PER_SESSION)
