"""One exception per error code, for the client side: `error_for(code)` gives it.

    error = error_for(response.error_code, response.error_message)
    if error is not None and error.RETRIABLE: ...

Whether a code is retriable follows Apache Kafka's client (its RetriableException hierarchy, 4.3.1). The texts are ours;
a message that came with the reply goes before them.
"""

from __future__ import annotations

from types import new_class
from typing import ClassVar, Final

from controller_runtime.protocol.errors import ErrorCode


class ApiError(Exception):
    """A reply said no. `code` says which; a class per code says it in types."""

    CODE: ClassVar[ErrorCode]
    RETRIABLE: ClassVar[bool]
    TEXT: ClassVar[str]
    """What the code means, in our words: the docstring of its class."""

    def __init_subclass__(cls, *, code: ErrorCode, retriable: bool = False) -> None:
        cls.CODE, cls.RETRIABLE, cls.TEXT = code, retriable, cls.__doc__ or code.name

    def __init__(self, message: str | None = None) -> None:
        super().__init__(f"{self.CODE.name} ({int(self.CODE)}): {message or self.TEXT}")
        self.message = message or self.TEXT

    @property
    def code(self) -> ErrorCode:
        return self.CODE


class UnknownServerError(ApiError, code=ErrorCode.UNKNOWN_SERVER_ERROR):
    """The server met an error it has no code for."""


class NotLeaderOrFollower(ApiError, code=ErrorCode.NOT_LEADER_OR_FOLLOWER, retriable=True):
    """This node is not the leader, or not a replica, of the partition."""


class RequestTimedOut(ApiError, code=ErrorCode.REQUEST_TIMED_OUT, retriable=True):
    """The request was not done in its time."""


class UnsupportedVersion(ApiError, code=ErrorCode.UNSUPPORTED_VERSION):
    """The version is not supported."""


class TopicAlreadyExists(ApiError, code=ErrorCode.TOPIC_ALREADY_EXISTS):
    """A topic with this name exists."""


class NotController(ApiError, code=ErrorCode.NOT_CONTROLLER, retriable=True):
    """This node is not the active controller."""


class FencedLeaderEpoch(ApiError, code=ErrorCode.FENCED_LEADER_EPOCH, retriable=True):
    """The leader epoch is older than the replica's."""


class BrokerIdNotRegistered(ApiError, code=ErrorCode.BROKER_ID_NOT_REGISTERED):
    """The broker id is not registered."""


class MismatchedEndpointType(ApiError, code=ErrorCode.MISMATCHED_ENDPOINT_TYPE):
    """The request was sent to the wrong kind of endpoint."""


class DuplicateVoter(ApiError, code=ErrorCode.DUPLICATE_VOTER):
    """The voter is in the voter set."""


class VoterNotFound(ApiError, code=ErrorCode.VOTER_NOT_FOUND):
    """The voter is not in the voter set."""


_OTHERS: Final = """\
OFFSET_OUT_OF_RANGE The log does not hold this offset.
CORRUPT_MESSAGE* A batch fails its checksum or is malformed.
UNKNOWN_TOPIC_OR_PARTITION* This node does not host the topic or partition.
INVALID_FETCH_SIZE The fetch size is invalid.
LEADER_NOT_AVAILABLE* The partition has no leader now, an election is under way.
BROKER_NOT_AVAILABLE The broker is not available.
REPLICA_NOT_AVAILABLE* The replica is not available on this broker.
MESSAGE_TOO_LARGE The batch is larger than the server accepts.
STALE_CONTROLLER_EPOCH The controller has moved to a later epoch.
OFFSET_METADATA_TOO_LARGE The metadata of the committed offset is too large.
NETWORK_EXCEPTION* The connection broke before the answer came.
COORDINATOR_LOAD_IN_PROGRESS* The coordinator is still loading.
COORDINATOR_NOT_AVAILABLE* The coordinator is not available.
NOT_COORDINATOR* This node is not the coordinator.
INVALID_TOPIC_EXCEPTION The topic's name is invalid or reserved.
RECORD_LIST_TOO_LARGE The batch is larger than a segment.
NOT_ENOUGH_REPLICAS* Fewer replicas are in sync than the topic demands.
NOT_ENOUGH_REPLICAS_AFTER_APPEND* Appended, but fewer replicas are in sync than the topic demands.
INVALID_REQUIRED_ACKS Acks is neither -1, 0 nor 1.
ILLEGAL_GENERATION The group has moved to another generation.
INCONSISTENT_GROUP_PROTOCOL The member's protocols do not fit the group's.
INVALID_GROUP_ID The group id is invalid.
UNKNOWN_MEMBER_ID The coordinator does not know this member.
INVALID_SESSION_TIMEOUT The session timeout is outside the broker's bounds.
REBALANCE_IN_PROGRESS The group is rebalancing, join again.
INVALID_COMMIT_OFFSET_SIZE The offsets to commit are too large.
TOPIC_AUTHORIZATION_FAILED Not authorized for the topic.
GROUP_AUTHORIZATION_FAILED Not authorized for the group.
CLUSTER_AUTHORIZATION_FAILED Not authorized for the cluster.
INVALID_TIMESTAMP A record's timestamp is out of the allowed range.
UNSUPPORTED_SASL_MECHANISM The SASL mechanism is not enabled here.
ILLEGAL_SASL_STATE This request does not fit the state of the SASL exchange.
INVALID_PARTITIONS The number of partitions is invalid.
INVALID_REPLICATION_FACTOR The replication factor is invalid or exceeds the brokers.
INVALID_REPLICA_ASSIGNMENT The replica assignment is invalid.
INVALID_CONFIG The configuration is invalid.
INVALID_REQUEST The request contradicts the protocol.
UNSUPPORTED_FOR_MESSAGE_FORMAT The message format does not allow this.
POLICY_VIOLATION A policy of the server forbids this.
OUT_OF_ORDER_SEQUENCE_NUMBER The producer skipped a sequence number.
DUPLICATE_SEQUENCE_NUMBER This sequence number has been written before.
INVALID_PRODUCER_EPOCH A newer producer uses this id.
INVALID_TXN_STATE The transaction's state does not allow this.
INVALID_PRODUCER_ID_MAPPING The producer id does not belong to the transactional id.
INVALID_TRANSACTION_TIMEOUT The transaction timeout exceeds the broker's bound.
CONCURRENT_TRANSACTIONS* Another operation on the transaction is under way.
TRANSACTION_COORDINATOR_FENCED A newer coordinator has taken over.
TRANSACTIONAL_ID_AUTHORIZATION_FAILED Not authorized for the transactional id.
SECURITY_DISABLED Security is not enabled here.
OPERATION_NOT_ATTEMPTED Not attempted, because another part of the batch failed.
KAFKA_STORAGE_ERROR* The disk failed while the log was read or written.
LOG_DIR_NOT_FOUND The broker has no such log directory.
SASL_AUTHENTICATION_FAILED Authentication failed.
UNKNOWN_PRODUCER_ID The broker knows nothing of this producer id.
REASSIGNMENT_IN_PROGRESS The partition is being reassigned.
DELEGATION_TOKEN_AUTH_DISABLED Delegation tokens are not enabled.
DELEGATION_TOKEN_NOT_FOUND There is no such delegation token.
DELEGATION_TOKEN_OWNER_MISMATCH The delegation token belongs to another principal.
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED Delegation tokens need another authentication than this connection's.
DELEGATION_TOKEN_AUTHORIZATION_FAILED Not authorized for the delegation token.
DELEGATION_TOKEN_EXPIRED The delegation token has expired.
INVALID_PRINCIPAL_TYPE The principal's type is not supported.
NON_EMPTY_GROUP The group still has members.
GROUP_ID_NOT_FOUND There is no such group.
FETCH_SESSION_ID_NOT_FOUND* The fetch session is gone.
INVALID_FETCH_SESSION_EPOCH* The fetch session is at another epoch.
LISTENER_NOT_FOUND* The leader has no listener of the name that was used.
TOPIC_DELETION_DISABLED Topics may not be deleted here.
UNKNOWN_LEADER_EPOCH* The leader epoch is newer than the replica's.
UNSUPPORTED_COMPRESSION_TYPE The compression is not supported here.
STALE_BROKER_EPOCH The broker's epoch has passed.
OFFSET_NOT_AVAILABLE* The leader's high watermark has not caught up since its election.
MEMBER_ID_REQUIRED Join again with the member id of this reply.
PREFERRED_LEADER_NOT_AVAILABLE* The preferred leader is not available.
GROUP_MAX_SIZE_REACHED The group is full.
FENCED_INSTANCE_ID Another member has taken this static instance id.
ELIGIBLE_LEADERS_NOT_AVAILABLE* No replica may become the leader.
ELECTION_NOT_NEEDED* The partition has the leader that was asked for.
NO_REASSIGNMENT_IN_PROGRESS Nothing is being reassigned.
GROUP_SUBSCRIBED_TO_TOPIC The group is subscribed to the topic.
INVALID_RECORD A record does not pass the broker's checks.
UNSTABLE_OFFSET_COMMIT* There are offsets of a transaction that is not yet decided.
THROTTLING_QUOTA_EXCEEDED* The quota is exhausted for now.
PRODUCER_FENCED A newer producer uses this transactional id.
RESOURCE_NOT_FOUND There is no such resource.
DUPLICATE_RESOURCE The resource exists.
UNACCEPTABLE_CREDENTIAL The credential does not meet the requirements.
INCONSISTENT_VOTER_SET Only one side counts the other as a voter.
INVALID_UPDATE_VERSION The update's version is not the expected one.
FEATURE_UPDATE_FAILED The features could not be updated.
PRINCIPAL_DESERIALIZATION_FAILURE The forwarded principal cannot be read.
SNAPSHOT_NOT_FOUND There is no such snapshot.
POSITION_OUT_OF_RANGE The position is outside the snapshot.
UNKNOWN_TOPIC_ID* This node does not host the topic id.
DUPLICATE_BROKER_REGISTRATION Another process holds this broker id.
INCONSISTENT_TOPIC_ID* The log carries another topic id.
INCONSISTENT_CLUSTER_ID This node belongs to another cluster.
TRANSACTIONAL_ID_NOT_FOUND There is no such transactional id.
FETCH_SESSION_TOPIC_ID_ERROR* The fetch session mixes topic names and topic ids.
INELIGIBLE_REPLICA The replica may not join the in-sync set.
NEW_LEADER_ELECTED The change was made and the partition has another leader now.
OFFSET_MOVED_TO_TIERED_STORAGE The offset has moved to remote storage.
FENCED_MEMBER_EPOCH The member was fenced, join again.
UNRELEASED_INSTANCE_ID The static instance id is still in use.
UNSUPPORTED_ASSIGNOR No assignor of the request is supported.
STALE_MEMBER_EPOCH The member's epoch has passed.
UNSUPPORTED_ENDPOINT_TYPE This endpoint type is not supported yet.
UNKNOWN_CONTROLLER_ID This controller id is not known.
UNKNOWN_SUBSCRIPTION_ID The telemetry subscription is unknown or outdated.
TELEMETRY_TOO_LARGE The telemetry is larger than the broker accepts.
INVALID_REGISTRATION The controller considers the broker's registration invalid.
TRANSACTION_ABORTABLE The transaction must be aborted before it can go on.
INVALID_RECORD_STATE The share group's record is in another state.
SHARE_SESSION_NOT_FOUND* The share session is gone.
INVALID_SHARE_SESSION_EPOCH* The share session is at another epoch.
FENCED_STATE_EPOCH The share coordinator's state has moved on.
INVALID_VOTER_KEY The voter key is not the receiver's.
INVALID_REGULAR_EXPRESSION The regular expression is invalid.
REBOOTSTRAP_REQUIRED The client's metadata is out of date, bootstrap anew.
STREAMS_INVALID_TOPOLOGY The topology is invalid.
STREAMS_INVALID_TOPOLOGY_EPOCH The topology's epoch is invalid.
STREAMS_TOPOLOGY_FENCED The topology's epoch has passed.
SHARE_SESSION_LIMIT_REACHED* The broker has no room for another share session.
"""
"""The codes that nobody catches by their class: code (a star: retriable) and text."""


def _class_of(row: str) -> type[ApiError]:
    name, _, text = row.partition(" ")
    code = ErrorCode[name.rstrip("*")]
    title = "".join(word.capitalize() for word in code.name.split("_"))
    return new_class(
        title, (ApiError,), {"code": code, "retriable": name.endswith("*")}, lambda body: body.update(__doc__=text)
    )


_made: Final = tuple(map(_class_of, _OTHERS.splitlines()))
"""Held here: a class that nobody holds is no subclass any more."""
_classes: Final = {int(cls.CODE): cls for cls in ApiError.__subclasses__()}


def error_for(code: int, message: str | None = None) -> ApiError | None:
    """The exception of a code, None for NONE; a code from the future counts as UNKNOWN_SERVER_ERROR and is named."""
    if code == ErrorCode.NONE:
        return None
    found = _classes.get(code)
    if found is None:
        return UnknownServerError(f"unknown error code {code}" + (f": {message}" if message else ""))
    return found(message)
