"""What each of our roles serves: one row for each API, read by dispatch, ApiVersions, forwarding and
`docs/compatibility.md`, and by the authorizer (`answers/rights/gate.py`).

Add a row when its handler is wired (a test wants both or neither), with the versions it really serves when they are
fewer than Kafka's. A role advertises exactly these rows, so a client never meets an API that answers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from functools import cache
from typing import Final

from controller_runtime.parts.authorization import NOTHING, Authorization, Resource, Right, need
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.schema import Versions
from controller_runtime.values import dataclass, replace


class Status(StrEnum):
    """How much of an API is there."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    WIRE_ONLY = "wire only"
    """The message is understood, nothing answers it: not advertised."""
    ABSENT = "absent"


class Where(Enum):
    """Who of a node answers."""

    CONSENSUS = "consensus"
    VOTER_SET = "consensus, whose leader may write for it"
    NODE = "what stands around consensus and the image"
    ANY = "every node of the role, from its image and its partitions"
    ACTIVE = "the active controller only"


class Forwarded(Enum):
    """Whether a broker passes a request on to the active controller, in an Envelope."""

    NO = "no"
    UNREAD = "as it came: the broker reads its header, and walks over a large body to see that it is one"
    JUDGED = "what is left of it after the broker has judged its part"


@dataclass(frozen=True, slots=True)
class Row:
    """One API on one role. `versions` narrows Kafka's range; `note` says what is missing."""

    authorization: Authorization
    where: Where = Where.ANY
    status: Status = Status.SUPPORTED
    note: str = ""
    versions: Versions | None = None
    in_pieces: bool = False
    """It may touch many partitions: decided in pieces, consensus is served between them."""
    forwarded: Forwarded = Forwarded.NO


def _on(operation: Operation, *resources: Resource) -> tuple[Right, ...]:
    return tuple(Right(operation, resource) for resource in resources)


_CLUSTER_ACTION: Final = Right(Operation.CLUSTER_ACTION, Resource.CLUSTER)
_ALTER: Final = (need(Right(Operation.ALTER, Resource.CLUSTER)),)
_DESCRIBE: Final = (need(Right(Operation.DESCRIBE, Resource.CLUSTER)),)
_DESCRIBE_TOPIC: Final = Right(Operation.DESCRIBE, Resource.TOPIC)
_READ_TOPIC: Final = Right(Operation.READ, Resource.TOPIC)
_READ_GROUP: Final = Right(Operation.READ, Resource.GROUP)
_WRITE_TRANSACTION: Final = Right(Operation.WRITE, Resource.TRANSACTIONAL_ID)
_DESCRIBE_TRANSACTION: Final = Right(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID)
_DESCRIBE_GROUP: Final = Right(Operation.DESCRIBE, Resource.GROUP)
_CREATE: Final = _on(Operation.CREATE, Resource.CLUSTER, Resource.TOPIC)
_ALTER_QUOTAS: Final = (need(Right(Operation.ALTER_CONFIGS, Resource.CLUSTER)),)
_DESCRIBE_QUOTAS: Final = (need(Right(Operation.DESCRIBE_CONFIGS, Resource.CLUSTER)),)
_CREATE_TOKENS: Final = (need(Right(Operation.CREATE_TOKENS, Resource.USER), part="for another owner"),)
_DESCRIBE_TOKENS: Final = (
    need(
        Right(Operation.DESCRIBE, Resource.DELEGATION_TOKEN),
        Right(Operation.DESCRIBE_TOKENS, Resource.USER),
        part="of another owner, who did not name him as renewer",
    ),
)
_NODES: Final = (need(_CLUSTER_ACTION),)
"""Brokers and controllers of the cluster."""


def _configs(operation: Operation, nodes: str = "nodes, loggers, client metrics") -> Authorization:
    topic, group, cluster = _on(operation, Resource.TOPIC, Resource.GROUP, Resource.CLUSTER)
    return need(topic, part="topics"), need(group, part="groups"), need(cluster, part=nodes)


_DESCRIBE_CONFIGS: Final = _configs(Operation.DESCRIBE_CONFIGS)
_REFUSED_NOTE: Final = "what this node could not honour is refused"

_ACLS_NOTE: Final = "with the authorizer, or kept for Apache Kafka's brokers (`quorate.acls=kept`)"

_TOKENS_NOTE: Final = "for who has shown who he is, without a token; refused on PLAINTEXT, as by Kafka"
_ASKED_OF_BROKERS: Final = "UNKNOWN_SERVER_ERROR, as by Kafka, whose controllers advertise it: brokers answer it"

CONTROLLER: Final[Mapping[ApiKey, Row]] = {
    ApiKey.FETCH: Row(_NODES, Where.CONSENSUS, note="the metadata partition only"),
    ApiKey.SASL_HANDSHAKE: Row(NOTHING, Where.NODE),
    ApiKey.API_VERSIONS: Row(NOTHING, Where.NODE),
    ApiKey.CREATE_TOPICS: Row(
        (need(*_CREATE), need(Right(Operation.DESCRIBE_CONFIGS, Resource.TOPIC), part="configurations in the answer")),
        Where.ACTIVE,
        in_pieces=True,
    ),
    ApiKey.DELETE_TOPICS: Row(
        (
            need(
                Right(Operation.DELETE, Resource.CLUSTER),
                (_DESCRIBE_TOPIC, Right(Operation.DELETE, Resource.TOPIC)),
            ),
        ),
        Where.ACTIVE,
        in_pieces=True,
    ),
    ApiKey.DESCRIBE_CONFIGS: Row(_DESCRIBE_CONFIGS, Where.ANY),
    ApiKey.ALTER_CONFIGS: Row(
        _configs(Operation.ALTER_CONFIGS, "nodes, client metrics"), Where.ACTIVE, note=_REFUSED_NOTE
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Row(
        (*_configs(Operation.ALTER_CONFIGS, "nodes, client metrics"), need(_CLUSTER_ACTION, part="loggers")),
        Where.ACTIVE,
        note=_REFUSED_NOTE,
    ),
    ApiKey.CREATE_PARTITIONS: Row((need(Right(Operation.ALTER, Resource.TOPIC)),), Where.ACTIVE, in_pieces=True),
    ApiKey.SASL_AUTHENTICATE: Row(NOTHING, Where.NODE),
    ApiKey.ELECT_LEADERS: Row(_ALTER, Where.ACTIVE, in_pieces=True),
    ApiKey.ALTER_PARTITION: Row(_NODES, Where.ACTIVE, in_pieces=True),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Row(_ALTER, Where.ACTIVE, in_pieces=True),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Row(_DESCRIBE, Where.ACTIVE),
    ApiKey.CREATE_DELEGATION_TOKEN: Row(_CREATE_TOKENS, Where.ACTIVE, note=_TOKENS_NOTE),
    ApiKey.RENEW_DELEGATION_TOKEN: Row(NOTHING, Where.ACTIVE, note=_TOKENS_NOTE),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Row(NOTHING, Where.ACTIVE, note=_TOKENS_NOTE),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Row(NOTHING, note=_ASKED_OF_BROKERS),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Row(NOTHING, note=_ASKED_OF_BROKERS),
    ApiKey.DESCRIBE_ACLS: Row(_DESCRIBE, note=_ACLS_NOTE),
    ApiKey.CREATE_ACLS: Row(_ALTER, Where.ACTIVE, note=_ACLS_NOTE, in_pieces=True),
    ApiKey.DELETE_ACLS: Row(_ALTER, Where.ACTIVE, note=_ACLS_NOTE, in_pieces=True),
    ApiKey.ALTER_CLIENT_QUOTAS: Row(_ALTER_QUOTAS, Where.ACTIVE, in_pieces=True),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Row(_ALTER, Where.ACTIVE, in_pieces=True),
    ApiKey.VOTE: Row(_NODES, Where.CONSENSUS),
    ApiKey.BEGIN_QUORUM_EPOCH: Row(_NODES, Where.CONSENSUS),
    ApiKey.END_QUORUM_EPOCH: Row(_NODES, Where.CONSENSUS),
    ApiKey.DESCRIBE_QUORUM: Row(_DESCRIBE, Where.NODE),
    ApiKey.UPDATE_FEATURES: Row(_ALTER, Where.ACTIVE),
    ApiKey.ENVELOPE: Row(_NODES, Where.NODE),
    ApiKey.FETCH_SNAPSHOT: Row(_NODES, Where.CONSENSUS),
    ApiKey.DESCRIBE_CLUSTER: Row(_ALTER),
    ApiKey.BROKER_REGISTRATION: Row(_NODES, Where.ACTIVE, in_pieces=True),
    ApiKey.BROKER_HEARTBEAT: Row(_NODES, Where.ACTIVE, in_pieces=True),
    ApiKey.UNREGISTER_BROKER: Row(_ALTER, Where.ACTIVE, in_pieces=True),
    ApiKey.ALLOCATE_PRODUCER_IDS: Row(_NODES, Where.ACTIVE),
    ApiKey.CONTROLLER_REGISTRATION: Row(_NODES, Where.ACTIVE),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: Row(_NODES, Where.ACTIVE, in_pieces=True),
    ApiKey.ADD_RAFT_VOTER: Row(_ALTER, Where.VOTER_SET),
    ApiKey.REMOVE_RAFT_VOTER: Row(_ALTER, Where.VOTER_SET),
    ApiKey.UPDATE_RAFT_VOTER: Row(_NODES, Where.VOTER_SET),
}


def _forwarded(key: ApiKey) -> Row:
    """As on the controller, which judges in the name of the client, whatever broker it asked."""
    return replace(CONTROLLER[key], note="forwarded to the controller", forwarded=Forwarded.UNREAD, in_pieces=False)


def _tokens(authorization: Authorization) -> Row:
    return Row(authorization, note=_TOKENS_NOTE, forwarded=Forwarded.JUDGED)


BROKER: Final[Mapping[ApiKey, Row]] = {
    ApiKey.PRODUCE: Row(
        (
            need(Right(Operation.WRITE, Resource.TOPIC)),
            need(Right(Operation.WRITE, Resource.TRANSACTIONAL_ID), part="transactional batches"),
        ),
        in_pieces=True,
    ),
    ApiKey.FETCH: Row(
        (need(Right(Operation.READ, Resource.TOPIC), part="consumers"), need(_CLUSTER_ACTION, part="followers")),
        in_pieces=True,
    ),
    ApiKey.LIST_OFFSETS: Row((need(_DESCRIBE_TOPIC),), in_pieces=True),
    ApiKey.METADATA: Row((need(_DESCRIBE_TOPIC), need(*_CREATE, part="topics to be made")), in_pieces=True),
    ApiKey.OFFSET_COMMIT: Row((need(_READ_GROUP), need(_READ_TOPIC, part="topics")), in_pieces=True),
    ApiKey.OFFSET_FETCH: Row((need(_DESCRIBE_GROUP), need(_DESCRIBE_TOPIC, part="topics")), in_pieces=True),
    ApiKey.FIND_COORDINATOR: Row(
        (
            need(_DESCRIBE_GROUP, part="groups"),
            need(Right(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID), part="transactions"),
            need(_CLUSTER_ACTION, part="share partitions"),
        ),
    ),
    ApiKey.JOIN_GROUP: Row((need(_READ_GROUP),)),
    ApiKey.HEARTBEAT: Row((need(_READ_GROUP),)),
    ApiKey.LEAVE_GROUP: Row((need(_READ_GROUP),)),
    ApiKey.SYNC_GROUP: Row((need(_READ_GROUP),)),
    ApiKey.DESCRIBE_GROUPS: Row((need(_DESCRIBE_GROUP),), in_pieces=True),
    ApiKey.LIST_GROUPS: Row(
        (need(Right(Operation.DESCRIBE, Resource.CLUSTER), _DESCRIBE_GROUP),),
        in_pieces=True,
    ),
    ApiKey.SASL_HANDSHAKE: Row(NOTHING),
    ApiKey.SASL_AUTHENTICATE: Row(NOTHING),
    ApiKey.API_VERSIONS: Row(NOTHING),
    ApiKey.CREATE_TOPICS: _forwarded(ApiKey.CREATE_TOPICS),
    ApiKey.DELETE_TOPICS: _forwarded(ApiKey.DELETE_TOPICS),
    ApiKey.CREATE_PARTITIONS: _forwarded(ApiKey.CREATE_PARTITIONS),
    ApiKey.ELECT_LEADERS: _forwarded(ApiKey.ELECT_LEADERS),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _forwarded(ApiKey.ALTER_PARTITION_REASSIGNMENTS),
    ApiKey.DELETE_RECORDS: Row((need(Right(Operation.DELETE, Resource.TOPIC)),), in_pieces=True),
    ApiKey.INIT_PRODUCER_ID: Row(
        (
            need(Right(Operation.WRITE, Resource.TRANSACTIONAL_ID), part="transactional"),
            need(Right(Operation.TWO_PHASE_COMMIT, Resource.TRANSACTIONAL_ID), part="two-phase commit"),
            need(
                Right(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER),
                Right(Operation.WRITE, Resource.ANY_TOPIC),
                part="idempotent",
            ),
        ),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Row((need(_DESCRIBE_TOPIC, _CLUSTER_ACTION),), in_pieces=True),
    ApiKey.ADD_PARTITIONS_TO_TXN: Row(
        (
            need(_WRITE_TRANSACTION, part="producers, with their topics"),
            need(Right(Operation.WRITE, Resource.TOPIC), part="topics"),
            need(_CLUSTER_ACTION, part="brokers"),
        ),
        in_pieces=True,
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: Row(
        (need(_WRITE_TRANSACTION), need(_READ_GROUP)),
    ),
    ApiKey.END_TXN: Row((need(_WRITE_TRANSACTION),)),
    ApiKey.WRITE_TXN_MARKERS: Row(
        (need(Right(Operation.ALTER, Resource.CLUSTER), _CLUSTER_ACTION),),
        in_pieces=True,
    ),
    ApiKey.TXN_OFFSET_COMMIT: Row(
        (need(_WRITE_TRANSACTION), need(_READ_GROUP), need(_READ_TOPIC, part="topics")),
        in_pieces=True,
    ),
    ApiKey.DESCRIBE_CONFIGS: Row(_DESCRIBE_CONFIGS, in_pieces=True),
    ApiKey.ALTER_CONFIGS: Row(
        _configs(Operation.ALTER_CONFIGS, "nodes, client metrics"),
        note="checked, then forwarded to the controller",
        forwarded=Forwarded.JUDGED,
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Row(
        _configs(Operation.ALTER_CONFIGS),
        note="checked, then forwarded to the controller",
        forwarded=Forwarded.JUDGED,
    ),
    ApiKey.DELETE_GROUPS: Row((need(Right(Operation.DELETE, Resource.GROUP)),), in_pieces=True),
    ApiKey.OFFSET_DELETE: Row(
        (need(Right(Operation.DELETE, Resource.GROUP)), need(_READ_TOPIC, part="topics")), in_pieces=True
    ),
    ApiKey.LIST_CONFIG_RESOURCES: Row((need(Right(Operation.DESCRIBE_CONFIGS, Resource.CLUSTER)),)),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _forwarded(ApiKey.LIST_PARTITION_REASSIGNMENTS),
    ApiKey.CREATE_DELEGATION_TOKEN: _tokens(_CREATE_TOKENS),
    ApiKey.RENEW_DELEGATION_TOKEN: _tokens(NOTHING),
    ApiKey.EXPIRE_DELEGATION_TOKEN: _tokens(NOTHING),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Row(_DESCRIBE_TOKENS, note=_TOKENS_NOTE, in_pieces=True),
    ApiKey.DESCRIBE_ACLS: Row(_DESCRIBE, note=_ACLS_NOTE),
    ApiKey.CREATE_ACLS: _forwarded(ApiKey.CREATE_ACLS),
    ApiKey.DELETE_ACLS: _forwarded(ApiKey.DELETE_ACLS),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Row(_DESCRIBE_QUOTAS),
    ApiKey.ALTER_CLIENT_QUOTAS: _forwarded(ApiKey.ALTER_CLIENT_QUOTAS),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Row(_DESCRIBE),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _forwarded(ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Row(_ALTER, in_pieces=True),
    ApiKey.DESCRIBE_LOG_DIRS: Row(_DESCRIBE, in_pieces=True),
    ApiKey.DESCRIBE_QUORUM: _forwarded(ApiKey.DESCRIBE_QUORUM),
    ApiKey.UPDATE_FEATURES: _forwarded(ApiKey.UPDATE_FEATURES),
    ApiKey.DESCRIBE_CLUSTER: Row((need(Right(Operation.DESCRIBE, Resource.CLUSTER), part="authorized operations"),)),
    ApiKey.DESCRIBE_PRODUCERS: Row((need(_READ_TOPIC),), in_pieces=True),
    ApiKey.UNREGISTER_BROKER: _forwarded(ApiKey.UNREGISTER_BROKER),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Row((need(_READ_GROUP), need(_DESCRIBE_TOPIC, part="topics"))),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Row((need(_DESCRIBE_GROUP), need(_DESCRIBE_TOPIC, part="topics")), in_pieces=True),
    ApiKey.SHARE_GROUP_HEARTBEAT: Row((need(_READ_GROUP), need(_DESCRIBE_TOPIC, part="topics"))),
    ApiKey.SHARE_GROUP_DESCRIBE: Row((need(_DESCRIBE_GROUP), need(_DESCRIBE_TOPIC, part="topics")), in_pieces=True),
    ApiKey.STREAMS_GROUP_HEARTBEAT: Row((need(_READ_GROUP), need(_DESCRIBE_TOPIC, part="topics"))),
    ApiKey.STREAMS_GROUP_DESCRIBE: Row((need(_DESCRIBE_GROUP), need(_DESCRIBE_TOPIC, part="topics")), in_pieces=True),
    ApiKey.DESCRIBE_TRANSACTIONS: Row(
        (need(_DESCRIBE_TRANSACTION),),
        in_pieces=True,
    ),
    ApiKey.LIST_TRANSACTIONS: Row(
        (need(_DESCRIBE_TRANSACTION),),
        in_pieces=True,
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Row((need(_DESCRIBE_TOPIC),), in_pieces=True),
    ApiKey.SHARE_FETCH: Row((need(_READ_GROUP), need(_READ_TOPIC, part="topics"))),
    ApiKey.SHARE_ACKNOWLEDGE: Row((need(_READ_GROUP), need(_READ_TOPIC, part="topics"))),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: Row(_NODES, in_pieces=True),
    ApiKey.READ_SHARE_GROUP_STATE: Row(_NODES, in_pieces=True),
    ApiKey.WRITE_SHARE_GROUP_STATE: Row(_NODES, in_pieces=True),
    ApiKey.DELETE_SHARE_GROUP_STATE: Row(_NODES, in_pieces=True),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: Row(_NODES, in_pieces=True),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Row(
        (need(_DESCRIBE_GROUP), need(_DESCRIBE_TOPIC, part="topics")), in_pieces=True
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Row((need(_READ_GROUP), need(_READ_TOPIC, part="topics"))),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Row(
        (need(Right(Operation.DELETE, Resource.GROUP)), need(_READ_TOPIC, part="topics"))
    ),
    ApiKey.ADD_RAFT_VOTER: _forwarded(ApiKey.ADD_RAFT_VOTER),
    ApiKey.REMOVE_RAFT_VOTER: _forwarded(ApiKey.REMOVE_RAFT_VOTER),
}

TABLES: Final[Mapping[ListenerType, Mapping[ApiKey, Row]]] = {
    ListenerType.BROKER: BROKER,
    ListenerType.CONTROLLER: CONTROLLER,
}


HELD_TO_MUTATION_RATE: Final[Mapping[ApiKey, int]] = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 3,
}
"""By `controller_mutation_rate` (KIP-599), with the first version whose clients know THROTTLING_QUOTA_EXCEEDED. All
their versions that are served begin their answers with the time to wait.
"""


def answered_at(*places: Where) -> frozenset[ApiKey]:
    """The keys of a controller that are answered there."""
    return frozenset(key for key, row in CONTROLLER.items() if row.where in places)


@cache
def served(role: ListenerType) -> Mapping[ApiKey, Versions]:
    """The versions that a role really answers, by key, ascending."""
    rows = sorted(TABLES[role].items())
    answered = (Status.SUPPORTED, Status.PARTIAL)
    return {key: row.versions or api(key).versions for key, row in rows if row.status in answered}


@cache
def advertised(role: ListenerType) -> Mapping[ApiKey, Versions]:
    """What ApiVersions lists: as served, but Produce from 0, because librdkafka needs it (KAFKA-18659)."""
    found = dict(served(role))
    if ApiKey.PRODUCE in found:
        found[ApiKey.PRODUCE] = Versions(0, found[ApiKey.PRODUCE].highest)
    return found
