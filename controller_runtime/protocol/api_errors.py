"""One exception per error code, for the client side: `error_for(code)` gives it.

    error = error_for(response.error_code, response.error_message)
    if error is not None and error.RETRIABLE: ...

Whether a code is retriable follows Apache Kafka's client (its RetriableException hierarchy, 4.3.1). The texts are ours;
a message that came with the reply goes before them.
"""

from __future__ import annotations

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


class OffsetOutOfRange(ApiError, code=ErrorCode.OFFSET_OUT_OF_RANGE):
    """The log does not hold this offset."""


class CorruptMessage(ApiError, code=ErrorCode.CORRUPT_MESSAGE, retriable=True):
    """A batch fails its checksum or is malformed."""


class UnknownTopicOrPartition(ApiError, code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, retriable=True):
    """This node does not host the topic or partition."""


class InvalidFetchSize(ApiError, code=ErrorCode.INVALID_FETCH_SIZE):
    """The fetch size is invalid."""


class LeaderNotAvailable(ApiError, code=ErrorCode.LEADER_NOT_AVAILABLE, retriable=True):
    """The partition has no leader now, an election is under way."""


class NotLeaderOrFollower(ApiError, code=ErrorCode.NOT_LEADER_OR_FOLLOWER, retriable=True):
    """This node is not the leader, or not a replica, of the partition."""


class RequestTimedOut(ApiError, code=ErrorCode.REQUEST_TIMED_OUT, retriable=True):
    """The request was not done in its time."""


class BrokerNotAvailable(ApiError, code=ErrorCode.BROKER_NOT_AVAILABLE):
    """The broker is not available."""


class ReplicaNotAvailable(ApiError, code=ErrorCode.REPLICA_NOT_AVAILABLE, retriable=True):
    """The replica is not available on this broker."""


class MessageTooLarge(ApiError, code=ErrorCode.MESSAGE_TOO_LARGE):
    """The batch is larger than the server accepts."""


class StaleControllerEpoch(ApiError, code=ErrorCode.STALE_CONTROLLER_EPOCH):
    """The controller has moved to a later epoch."""


class OffsetMetadataTooLarge(ApiError, code=ErrorCode.OFFSET_METADATA_TOO_LARGE):
    """The metadata of the committed offset is too large."""


class NetworkFailure(ApiError, code=ErrorCode.NETWORK_EXCEPTION, retriable=True):
    """The connection broke before the answer came."""


class CoordinatorLoadInProgress(ApiError, code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, retriable=True):
    """The coordinator is still loading."""


class CoordinatorNotAvailable(ApiError, code=ErrorCode.COORDINATOR_NOT_AVAILABLE, retriable=True):
    """The coordinator is not available."""


class NotCoordinator(ApiError, code=ErrorCode.NOT_COORDINATOR, retriable=True):
    """This node is not the coordinator."""


class InvalidTopic(ApiError, code=ErrorCode.INVALID_TOPIC_EXCEPTION):
    """The topic's name is invalid or reserved."""


class RecordListTooLarge(ApiError, code=ErrorCode.RECORD_LIST_TOO_LARGE):
    """The batch is larger than a segment."""


class NotEnoughReplicas(ApiError, code=ErrorCode.NOT_ENOUGH_REPLICAS, retriable=True):
    """Fewer replicas are in sync than the topic demands."""


class NotEnoughReplicasAfterAppend(ApiError, code=ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, retriable=True):
    """Appended, but fewer replicas are in sync than the topic demands."""


class InvalidRequiredAcks(ApiError, code=ErrorCode.INVALID_REQUIRED_ACKS):
    """Acks is neither -1, 0 nor 1."""


class IllegalGeneration(ApiError, code=ErrorCode.ILLEGAL_GENERATION):
    """The group has moved to another generation."""


class InconsistentGroupProtocol(ApiError, code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL):
    """The member's protocols do not fit the group's."""


class InvalidGroupId(ApiError, code=ErrorCode.INVALID_GROUP_ID):
    """The group id is invalid."""


class UnknownMemberId(ApiError, code=ErrorCode.UNKNOWN_MEMBER_ID):
    """The coordinator does not know this member."""


class InvalidSessionTimeout(ApiError, code=ErrorCode.INVALID_SESSION_TIMEOUT):
    """The session timeout is outside the broker's bounds."""


class RebalanceInProgress(ApiError, code=ErrorCode.REBALANCE_IN_PROGRESS):
    """The group is rebalancing, join again."""


class InvalidCommitOffsetSize(ApiError, code=ErrorCode.INVALID_COMMIT_OFFSET_SIZE):
    """The offsets to commit are too large."""


class TopicAuthorizationFailed(ApiError, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED):
    """Not authorized for the topic."""


class GroupAuthorizationFailed(ApiError, code=ErrorCode.GROUP_AUTHORIZATION_FAILED):
    """Not authorized for the group."""


class ClusterAuthorizationFailed(ApiError, code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
    """Not authorized for the cluster."""


class InvalidTimestamp(ApiError, code=ErrorCode.INVALID_TIMESTAMP):
    """A record's timestamp is out of the allowed range."""


class UnsupportedSaslMechanism(ApiError, code=ErrorCode.UNSUPPORTED_SASL_MECHANISM):
    """The SASL mechanism is not enabled here."""


class IllegalSaslState(ApiError, code=ErrorCode.ILLEGAL_SASL_STATE):
    """This request does not fit the state of the SASL exchange."""


class UnsupportedVersion(ApiError, code=ErrorCode.UNSUPPORTED_VERSION):
    """The version is not supported."""


class TopicAlreadyExists(ApiError, code=ErrorCode.TOPIC_ALREADY_EXISTS):
    """A topic with this name exists."""


class InvalidPartitions(ApiError, code=ErrorCode.INVALID_PARTITIONS):
    """The number of partitions is invalid."""


class InvalidReplicationFactor(ApiError, code=ErrorCode.INVALID_REPLICATION_FACTOR):
    """The replication factor is invalid or exceeds the brokers."""


class InvalidReplicaAssignment(ApiError, code=ErrorCode.INVALID_REPLICA_ASSIGNMENT):
    """The replica assignment is invalid."""


class InvalidConfig(ApiError, code=ErrorCode.INVALID_CONFIG):
    """The configuration is invalid."""


class NotController(ApiError, code=ErrorCode.NOT_CONTROLLER, retriable=True):
    """This node is not the active controller."""


class InvalidRequest(ApiError, code=ErrorCode.INVALID_REQUEST):
    """The request contradicts the protocol."""


class UnsupportedForMessageFormat(ApiError, code=ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT):
    """The message format does not allow this."""


class PolicyViolation(ApiError, code=ErrorCode.POLICY_VIOLATION):
    """A policy of the server forbids this."""


class OutOfOrderSequenceNumber(ApiError, code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
    """The producer skipped a sequence number."""


class DuplicateSequenceNumber(ApiError, code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
    """This sequence number has been written before."""


class InvalidProducerEpoch(ApiError, code=ErrorCode.INVALID_PRODUCER_EPOCH):
    """A newer producer uses this id."""


class InvalidTxnState(ApiError, code=ErrorCode.INVALID_TXN_STATE):
    """The transaction's state does not allow this."""


class InvalidProducerIdMapping(ApiError, code=ErrorCode.INVALID_PRODUCER_ID_MAPPING):
    """The producer id does not belong to the transactional id."""


class InvalidTransactionTimeout(ApiError, code=ErrorCode.INVALID_TRANSACTION_TIMEOUT):
    """The transaction timeout exceeds the broker's bound."""


class ConcurrentTransactions(ApiError, code=ErrorCode.CONCURRENT_TRANSACTIONS, retriable=True):
    """Another operation on the transaction is under way."""


class TransactionCoordinatorFenced(ApiError, code=ErrorCode.TRANSACTION_COORDINATOR_FENCED):
    """A newer coordinator has taken over."""


class TransactionalIdAuthorizationFailed(ApiError, code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
    """Not authorized for the transactional id."""


class SecurityDisabled(ApiError, code=ErrorCode.SECURITY_DISABLED):
    """Security is not enabled here."""


class OperationNotAttempted(ApiError, code=ErrorCode.OPERATION_NOT_ATTEMPTED):
    """Not attempted, because another part of the batch failed."""


class KafkaStorageError(ApiError, code=ErrorCode.KAFKA_STORAGE_ERROR, retriable=True):
    """The disk failed while the log was read or written."""


class LogDirNotFound(ApiError, code=ErrorCode.LOG_DIR_NOT_FOUND):
    """The broker has no such log directory."""


class SaslAuthenticationFailed(ApiError, code=ErrorCode.SASL_AUTHENTICATION_FAILED):
    """Authentication failed."""


class UnknownProducerId(ApiError, code=ErrorCode.UNKNOWN_PRODUCER_ID):
    """The broker knows nothing of this producer id."""


class ReassignmentInProgress(ApiError, code=ErrorCode.REASSIGNMENT_IN_PROGRESS):
    """The partition is being reassigned."""


class DelegationTokenAuthDisabled(ApiError, code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED):
    """Delegation tokens are not enabled."""


class DelegationTokenNotFound(ApiError, code=ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
    """There is no such delegation token."""


class DelegationTokenOwnerMismatch(ApiError, code=ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH):
    """The delegation token belongs to another principal."""


class DelegationTokenRequestNotAllowed(ApiError, code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED):
    """Delegation tokens need another authentication than this connection's."""


class DelegationTokenAuthorizationFailed(ApiError, code=ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED):
    """Not authorized for the delegation token."""


class DelegationTokenExpired(ApiError, code=ErrorCode.DELEGATION_TOKEN_EXPIRED):
    """The delegation token has expired."""


class InvalidPrincipalType(ApiError, code=ErrorCode.INVALID_PRINCIPAL_TYPE):
    """The principal's type is not supported."""


class NonEmptyGroup(ApiError, code=ErrorCode.NON_EMPTY_GROUP):
    """The group still has members."""


class GroupIdNotFound(ApiError, code=ErrorCode.GROUP_ID_NOT_FOUND):
    """There is no such group."""


class FetchSessionIdNotFound(ApiError, code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, retriable=True):
    """The fetch session is gone."""


class InvalidFetchSessionEpoch(ApiError, code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, retriable=True):
    """The fetch session is at another epoch."""


class ListenerNotFound(ApiError, code=ErrorCode.LISTENER_NOT_FOUND, retriable=True):
    """The leader has no listener of the name that was used."""


class TopicDeletionDisabled(ApiError, code=ErrorCode.TOPIC_DELETION_DISABLED):
    """Topics may not be deleted here."""


class FencedLeaderEpoch(ApiError, code=ErrorCode.FENCED_LEADER_EPOCH, retriable=True):
    """The leader epoch is older than the replica's."""


class UnknownLeaderEpoch(ApiError, code=ErrorCode.UNKNOWN_LEADER_EPOCH, retriable=True):
    """The leader epoch is newer than the replica's."""


class UnsupportedCompressionType(ApiError, code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE):
    """The compression is not supported here."""


class StaleBrokerEpoch(ApiError, code=ErrorCode.STALE_BROKER_EPOCH):
    """The broker's epoch has passed."""


class OffsetNotAvailable(ApiError, code=ErrorCode.OFFSET_NOT_AVAILABLE, retriable=True):
    """The leader's high watermark has not caught up since its election."""


class MemberIdRequired(ApiError, code=ErrorCode.MEMBER_ID_REQUIRED):
    """Join again with the member id of this reply."""


class PreferredLeaderNotAvailable(ApiError, code=ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, retriable=True):
    """The preferred leader is not available."""


class GroupMaxSizeReached(ApiError, code=ErrorCode.GROUP_MAX_SIZE_REACHED):
    """The group is full."""


class FencedInstanceId(ApiError, code=ErrorCode.FENCED_INSTANCE_ID):
    """Another member has taken this static instance id."""


class EligibleLeadersNotAvailable(ApiError, code=ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, retriable=True):
    """No replica may become the leader."""


class ElectionNotNeeded(ApiError, code=ErrorCode.ELECTION_NOT_NEEDED, retriable=True):
    """The partition has the leader that was asked for."""


class NoReassignmentInProgress(ApiError, code=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS):
    """Nothing is being reassigned."""


class GroupSubscribedToTopic(ApiError, code=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC):
    """The group is subscribed to the topic."""


class InvalidRecord(ApiError, code=ErrorCode.INVALID_RECORD):
    """A record does not pass the broker's checks."""


class UnstableOffsetCommit(ApiError, code=ErrorCode.UNSTABLE_OFFSET_COMMIT, retriable=True):
    """There are offsets of a transaction that is not yet decided."""


class ThrottlingQuotaExceeded(ApiError, code=ErrorCode.THROTTLING_QUOTA_EXCEEDED, retriable=True):
    """The quota is exhausted for now."""


class ProducerFenced(ApiError, code=ErrorCode.PRODUCER_FENCED):
    """A newer producer uses this transactional id."""


class ResourceNotFound(ApiError, code=ErrorCode.RESOURCE_NOT_FOUND):
    """There is no such resource."""


class DuplicateResource(ApiError, code=ErrorCode.DUPLICATE_RESOURCE):
    """The resource exists."""


class UnacceptableCredential(ApiError, code=ErrorCode.UNACCEPTABLE_CREDENTIAL):
    """The credential does not meet the requirements."""


class InconsistentVoterSet(ApiError, code=ErrorCode.INCONSISTENT_VOTER_SET):
    """Only one side counts the other as a voter."""


class InvalidUpdateVersion(ApiError, code=ErrorCode.INVALID_UPDATE_VERSION):
    """The update's version is not the expected one."""


class FeatureUpdateFailed(ApiError, code=ErrorCode.FEATURE_UPDATE_FAILED):
    """The features could not be updated."""


class PrincipalDeserializationFailure(ApiError, code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE):
    """The forwarded principal cannot be read."""


class SnapshotNotFound(ApiError, code=ErrorCode.SNAPSHOT_NOT_FOUND):
    """There is no such snapshot."""


class PositionOutOfRange(ApiError, code=ErrorCode.POSITION_OUT_OF_RANGE):
    """The position is outside the snapshot."""


class UnknownTopicId(ApiError, code=ErrorCode.UNKNOWN_TOPIC_ID, retriable=True):
    """This node does not host the topic id."""


class DuplicateBrokerRegistration(ApiError, code=ErrorCode.DUPLICATE_BROKER_REGISTRATION):
    """Another process holds this broker id."""


class BrokerIdNotRegistered(ApiError, code=ErrorCode.BROKER_ID_NOT_REGISTERED):
    """The broker id is not registered."""


class InconsistentTopicId(ApiError, code=ErrorCode.INCONSISTENT_TOPIC_ID, retriable=True):
    """The log carries another topic id."""


class InconsistentClusterId(ApiError, code=ErrorCode.INCONSISTENT_CLUSTER_ID):
    """This node belongs to another cluster."""


class TransactionalIdNotFound(ApiError, code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND):
    """There is no such transactional id."""


class FetchSessionTopicIdError(ApiError, code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, retriable=True):
    """The fetch session mixes topic names and topic ids."""


class IneligibleReplica(ApiError, code=ErrorCode.INELIGIBLE_REPLICA):
    """The replica may not join the in-sync set."""


class NewLeaderElected(ApiError, code=ErrorCode.NEW_LEADER_ELECTED):
    """The change was made and the partition has another leader now."""


class OffsetMovedToTieredStorage(ApiError, code=ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE):
    """The offset has moved to remote storage."""


class FencedMemberEpoch(ApiError, code=ErrorCode.FENCED_MEMBER_EPOCH):
    """The member was fenced, join again."""


class UnreleasedInstanceId(ApiError, code=ErrorCode.UNRELEASED_INSTANCE_ID):
    """The static instance id is still in use."""


class UnsupportedAssignor(ApiError, code=ErrorCode.UNSUPPORTED_ASSIGNOR):
    """No assignor of the request is supported."""


class StaleMemberEpoch(ApiError, code=ErrorCode.STALE_MEMBER_EPOCH):
    """The member's epoch has passed."""


class MismatchedEndpointType(ApiError, code=ErrorCode.MISMATCHED_ENDPOINT_TYPE):
    """The request was sent to the wrong kind of endpoint."""


class UnsupportedEndpointType(ApiError, code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE):
    """This endpoint type is not supported yet."""


class UnknownControllerId(ApiError, code=ErrorCode.UNKNOWN_CONTROLLER_ID):
    """This controller id is not known."""


class UnknownSubscriptionId(ApiError, code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID):
    """The telemetry subscription is unknown or outdated."""


class TelemetryTooLarge(ApiError, code=ErrorCode.TELEMETRY_TOO_LARGE):
    """The telemetry is larger than the broker accepts."""


class InvalidRegistration(ApiError, code=ErrorCode.INVALID_REGISTRATION):
    """The controller considers the broker's registration invalid."""


class TransactionAbortable(ApiError, code=ErrorCode.TRANSACTION_ABORTABLE):
    """The transaction must be aborted before it can go on."""


class InvalidRecordState(ApiError, code=ErrorCode.INVALID_RECORD_STATE):
    """The share group's record is in another state."""


class ShareSessionNotFound(ApiError, code=ErrorCode.SHARE_SESSION_NOT_FOUND, retriable=True):
    """The share session is gone."""


class InvalidShareSessionEpoch(ApiError, code=ErrorCode.INVALID_SHARE_SESSION_EPOCH, retriable=True):
    """The share session is at another epoch."""


class FencedStateEpoch(ApiError, code=ErrorCode.FENCED_STATE_EPOCH):
    """The share coordinator's state has moved on."""


class InvalidVoterKey(ApiError, code=ErrorCode.INVALID_VOTER_KEY):
    """The voter key is not the receiver's."""


class DuplicateVoter(ApiError, code=ErrorCode.DUPLICATE_VOTER):
    """The voter is in the voter set."""


class VoterNotFound(ApiError, code=ErrorCode.VOTER_NOT_FOUND):
    """The voter is not in the voter set."""


class InvalidRegularExpression(ApiError, code=ErrorCode.INVALID_REGULAR_EXPRESSION):
    """The regular expression is invalid."""


class RebootstrapRequired(ApiError, code=ErrorCode.REBOOTSTRAP_REQUIRED):
    """The client's metadata is out of date, bootstrap anew."""


class StreamsInvalidTopology(ApiError, code=ErrorCode.STREAMS_INVALID_TOPOLOGY):
    """The topology is invalid."""


class StreamsInvalidTopologyEpoch(ApiError, code=ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH):
    """The topology's epoch is invalid."""


class StreamsTopologyFenced(ApiError, code=ErrorCode.STREAMS_TOPOLOGY_FENCED):
    """The topology's epoch has passed."""


class ShareSessionLimitReached(ApiError, code=ErrorCode.SHARE_SESSION_LIMIT_REACHED, retriable=True):
    """The broker has no room for another share session."""


_classes: Final = {int(cls.CODE): cls for cls in ApiError.__subclasses__()}


def error_for(code: int, message: str | None = None) -> ApiError | None:
    """The exception of a code, None for NONE; a code from the future counts as UNKNOWN_SERVER_ERROR and is named."""
    if code == ErrorCode.NONE:
        return None
    found = _classes.get(code)
    if found is None:
        return UnknownServerError(f"unknown error code {code}" + (f": {message}" if message else ""))
    return found(message)
