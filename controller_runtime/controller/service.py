"""The active controller: request + image -> records + response, and the periodic work, as deadlines.

It knows no raft, disk or socket. Its caller gives it the newest image (uncommitted changes included), replays and
appends the records it returns, and lets responses leave when they are committed. The only state kept here is soft: when
each broker was last heard of, and when the periodic work is due. It is made anew by `activate` and dropped by
`deactivate`; everything else is in the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

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
from controller_runtime.controller.describe_configs import describe_configs
from controller_runtime.controller.directories import assign_replicas
from controller_runtime.controller.errors import Refused
from controller_runtime.controller.feature_updates import update_features
from controller_runtime.controller.heartbeats import Heartbeats
from controller_runtime.controller.producer_ids import allocate_producer_ids
from controller_runtime.controller.reassignments import list_reassignments
from controller_runtime.controller.refusals import refusal
from controller_runtime.controller.topic_deletion import delete_topics
from controller_runtime.controller.topics import TopicDefaults, TopicIds, create_topics, plan_topics, takes_long
from controller_runtime.identifiers import Instant, NodeId, Offset, Uuid
from controller_runtime.metadata.broker_configs import NodeRules, OwnConfigs
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from controller_runtime.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.update_features_request import UpdateFeaturesRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

SERVED_BY_ANY: Final[frozenset[ApiKey]] = frozenset({ApiKey.DESCRIBE_CLUSTER, ApiKey.DESCRIBE_CONFIGS})
"""Reads that every controller answers from its own image, leading or not."""

SERVED_BY_ACTIVE: Final[frozenset[ApiKey]] = frozenset(
    {
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
    }
)
"""Only between `activate` and `deactivate`; elsewhere the caller answers `refusal(request, NOT_CONTROLLER, ...)`."""

SERVED: Final = SERVED_BY_ANY | SERVED_BY_ACTIVE

_MAY_TOUCH_MANY: Final = (BrokerHeartbeatRequest, BrokerRegistrationRequest, UnregisterBrokerRequest)
"""All partitions of a broker."""

FENCE_CHECKS_PER_SESSION: Final = 8
FENCE_AGAIN_AFTER_S: Final = 0.01
"""When one silent broker was fenced, the next is looked for this much later."""


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """What the active controller needs to know that is not in the log."""

    node_id: NodeId
    cluster_id: str
    bootstrap_records: tuple[VersionedRecord, ...]
    """From bootstrap.checkpoint: metadata.version first. Written on the first activation of an empty log."""
    broker_session_timeout_s: float = 9.0
    no_op_interval_s: float = 0.5
    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    node_configs: Mapping[str, str] = field(default_factory=dict)
    """What this node's configuration file sets, for DescribeConfigs and the effective values of topics."""
    rules: NodeRules = NodeRules()
    """What this node knows of names of configurations."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The dice, given by the shell: a real random source in production, a seeded one in the simulator."""

    new_uuid: Callable[[], Uuid]
    below: Callable[[int], int]
    """A number in [0, n)."""


@dataclass(slots=True)
class _Leadership:
    """What lives as long as this node leads."""

    heartbeats: Heartbeats
    no_op_due: Instant
    fencing_due: Instant


class ControllerService:
    def __init__(self, config: ControllerConfig, chance: Chance) -> None:
        self._config = config
        self._chance = chance
        self._leadership: _Leadership | None = None

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
        )
        return activation_records(image, self._config.bootstrap_records, self._min_insync_replicas())

    def deactivate(self) -> None:
        """Leadership is lost: forget soft state."""
        self._leadership = None

    def handle(self, image: MetadataImage, request: Message, context: RequestContext, now: Instant) -> Decision:
        """Answer one request whose key is in SERVED. What is wrong with it is in the answer, never raised."""
        try:
            made = self._decide(image, request, context, now)
            return made if isinstance(made, Decision) else at_once(made, context.next_offset)
        except Refused as error:
            return Decision(refusal(request, error.code, error.message))

    def settled(self, image: MetadataImage, request: Message, now: Instant) -> Decision | None:
        """The answer to a heartbeat that changes nothing: it waits for no other decision. None to everything else."""
        if self._leadership is None or not isinstance(request, BrokerHeartbeatRequest):
            return None
        return settled_heartbeat(image, request, self._leadership.heartbeats, now)

    def comes_in_pieces(self, request: Message) -> bool:
        """Whether a request that is not `settled` is decided by `plan`, because it may touch many partitions."""
        if isinstance(request, CreateTopicsRequest):
            return takes_long(request, self._config.num_partitions)
        return isinstance(request, _MAY_TOUCH_MANY)

    def plan(self, image: MetadataImage, request: Message, context: RequestContext, now: Instant) -> Pieces:
        """What `handle` answers, in pieces; `image` has to stay the newest, but for these pieces, until the end."""
        try:
            if isinstance(request, CreateTopicsRequest):
                ids = TopicIds(image, self._chance.new_uuid)
                return (yield from plan_topics(image, request, self._topic_defaults(), ids))
            made = self._decide(image, request, context, now)
            return made if isinstance(made, Decision) else (yield from made)
        except Refused as error:
            return Decision(refusal(request, error.code, error.message))

    def hear(self, image: MetadataImage, request: Message, now: Instant) -> None:
        """A request that is refused for lack of room: a heartbeat all the same shows that its broker lives."""
        if self._leadership is not None and isinstance(request, BrokerHeartbeatRequest):
            broker = image.cluster.brokers.get(NodeId(request.broker_id))
            if broker is not None and broker.epoch == request.broker_epoch:
                self._leadership.heartbeats.hear(broker, now)

    def _decide(
        self, image: MetadataImage, request: Message, context: RequestContext, now: Instant
    ) -> Decision | Pieces:
        config = self._config
        if isinstance(request, DescribeClusterRequest):
            return Decision(describe_cluster(image, request, context, config.cluster_id))
        if isinstance(request, DescribeConfigsRequest):
            return Decision(describe_configs(image, request, self._own_configs()))
        leadership = self._leadership
        assert leadership is not None, f"{type(request).__name__} asked of a controller that is not active"
        heartbeats = leadership.heartbeats
        match request:
            case BrokerHeartbeatRequest():
                return heartbeat(image, request, context, heartbeats, now)
            case BrokerRegistrationRequest():
                return register_broker(image, request, context, config.cluster_id, heartbeats, now)
            case UnregisterBrokerRequest():
                return unregister_broker(image, request, context, heartbeats)
            case ControllerRegistrationRequest():
                return register_controller(image, request)
            case IncrementalAlterConfigsRequest():
                return alter_configs(image, request, self._own_configs(), forwarded=context.forwarded)
            case CreateTopicsRequest():
                return create_topics(image, request, self._topic_defaults(), TopicIds(image, self._chance.new_uuid))
            case DeleteTopicsRequest():
                return delete_topics(image, request, context.api_version, enabled=config.delete_topic_enable)
            case AllocateProducerIdsRequest():
                return allocate_producer_ids(image, request)
            case AssignReplicasToDirsRequest():
                return assign_replicas(image, request)
            case UpdateFeaturesRequest():
                return update_features(image, request, context, config.node_id, self._min_insync_replicas())
            case ListPartitionReassignmentsRequest():
                return Decision(list_reassignments(image, request))
            case _:
                raise AssertionError(f"{type(request).__name__} is not served by the controller")

    def _min_insync_replicas(self) -> str:
        return self._config.node_configs.get(MIN_INSYNC_REPLICAS, DEFAULT_MIN_INSYNC_REPLICAS)

    def _own_configs(self) -> OwnConfigs:
        return OwnConfigs(self._config.node_id, self._config.node_configs, self._config.rules)

    def _topic_defaults(self) -> TopicDefaults:
        return TopicDefaults(
            node_id=self._config.node_id,
            num_partitions=self._config.num_partitions,
            replication_factor=self._config.default_replication_factor,
            node_configs=self._config.node_configs,
            below=self._chance.below,
        )

    def periodic(self, now: Instant) -> tuple[VersionedRecord, ...]:
        """NoOp records that are due. Calling early is harmless."""
        leadership = self._leadership
        if leadership is None or now < leadership.no_op_due:
            return ()
        leadership.no_op_due = Instant(now + self._config.no_op_interval_s)
        return ((NoOpRecord(), 0),)

    def silent_broker(self, image: MetadataImage, now: Instant) -> NodeId | None:
        """Whom to fence now, one at a time (CLU-09), if it is time to look. Calling early is harmless."""
        leadership = self._leadership
        if leadership is None or now < leadership.fencing_due:
            return None
        silent = leadership.heartbeats.stale_broker(image, now)
        leadership.fencing_due = self._next_fencing(now) if silent is None else Instant(now + FENCE_AGAIN_AFTER_S)
        return None if silent is None else silent.id

    def fence(self, image: MetadataImage, broker_id: NodeId, next_offset: Offset) -> Pieces:
        """Nobody is answered. `image` has to stay the newest, as in `plan`."""
        assert self._leadership is not None, "only the active controller fences"
        return fence_silent_broker(image, self._leadership.heartbeats, broker_id, next_offset)

    def next_deadline(self) -> Instant | None:
        """When `periodic` or `silent_broker` wants to be called; None while inactive."""
        leadership = self._leadership
        return None if leadership is None else min(leadership.no_op_due, leadership.fencing_due)

    def _next_fencing(self, now: Instant) -> Instant:
        return Instant(now + self._config.broker_session_timeout_s / FENCE_CHECKS_PER_SESSION)
