"""One exception per error code, for the client side: `error_for(code)` in `errors` gives them.

    error = error_for(response.error_code, response.error_message)
    if error is not None and error.RETRIABLE: ...

Whether a code is retriable follows Apache Kafka's client (its RetriableException hierarchy, 4.3.1). The texts are ours; a
message that came with the reply goes before them.
"""

from __future__ import annotations

from typing import ClassVar, Final

from controller_runtime.protocol.errors import ErrorCode


class ApiError(Exception):
    """A reply said no. `code` says which; a class per code says it in types."""

    CODE: ClassVar[ErrorCode]
    RETRIABLE: ClassVar[bool]
    TEXT: ClassVar[str]
    """What the code means, in our words."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(f"{self.CODE.name} ({int(self.CODE)}): {message or self.TEXT}")
        self.message = message or self.TEXT

    @property
    def code(self) -> ErrorCode:
        return self.CODE


class UnknownServerError(ApiError):
    CODE = ErrorCode.UNKNOWN_SERVER_ERROR
    RETRIABLE = False
    TEXT = "the server met an error it has no code for"


class OffsetOutOfRange(ApiError):
    CODE = ErrorCode.OFFSET_OUT_OF_RANGE
    RETRIABLE = False
    TEXT = "the log does not hold this offset"


class CorruptMessage(ApiError):
    CODE = ErrorCode.CORRUPT_MESSAGE
    RETRIABLE = True
    TEXT = "a batch fails its checksum or is malformed"


class UnknownTopicOrPartition(ApiError):
    CODE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    RETRIABLE = True
    TEXT = "this node does not host the topic or partition"


class InvalidFetchSize(ApiError):
    CODE = ErrorCode.INVALID_FETCH_SIZE
    RETRIABLE = False
    TEXT = "the fetch size is invalid"


class LeaderNotAvailable(ApiError):
    CODE = ErrorCode.LEADER_NOT_AVAILABLE
    RETRIABLE = True
    TEXT = "the partition has no leader now, an election is under way"


class NotLeaderOrFollower(ApiError):
    CODE = ErrorCode.NOT_LEADER_OR_FOLLOWER
    RETRIABLE = True
    TEXT = "this node is not the leader, or not a replica, of the partition"


class RequestTimedOut(ApiError):
    CODE = ErrorCode.REQUEST_TIMED_OUT
    RETRIABLE = True
    TEXT = "the request was not done in its time"


class BrokerNotAvailable(ApiError):
    CODE = ErrorCode.BROKER_NOT_AVAILABLE
    RETRIABLE = False
    TEXT = "the broker is not available"


class ReplicaNotAvailable(ApiError):
    CODE = ErrorCode.REPLICA_NOT_AVAILABLE
    RETRIABLE = True
    TEXT = "the replica is not available on this broker"


class MessageTooLarge(ApiError):
    CODE = ErrorCode.MESSAGE_TOO_LARGE
    RETRIABLE = False
    TEXT = "the batch is larger than the server accepts"


class StaleControllerEpoch(ApiError):
    CODE = ErrorCode.STALE_CONTROLLER_EPOCH
    RETRIABLE = False
    TEXT = "the controller has moved to a later epoch"


class OffsetMetadataTooLarge(ApiError):
    CODE = ErrorCode.OFFSET_METADATA_TOO_LARGE
    RETRIABLE = False
    TEXT = "the metadata of the committed offset is too large"


class NetworkFailure(ApiError):
    CODE = ErrorCode.NETWORK_EXCEPTION
    RETRIABLE = True
    TEXT = "the connection broke before the answer came"


class CoordinatorLoadInProgress(ApiError):
    CODE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    RETRIABLE = True
    TEXT = "the coordinator is still loading"


class CoordinatorNotAvailable(ApiError):
    CODE = ErrorCode.COORDINATOR_NOT_AVAILABLE
    RETRIABLE = True
    TEXT = "the coordinator is not available"


class NotCoordinator(ApiError):
    CODE = ErrorCode.NOT_COORDINATOR
    RETRIABLE = True
    TEXT = "this node is not the coordinator"


class InvalidTopic(ApiError):
    CODE = ErrorCode.INVALID_TOPIC_EXCEPTION
    RETRIABLE = False
    TEXT = "the topic's name is invalid or reserved"


class RecordListTooLarge(ApiError):
    CODE = ErrorCode.RECORD_LIST_TOO_LARGE
    RETRIABLE = False
    TEXT = "the batch is larger than a segment"


class NotEnoughReplicas(ApiError):
    CODE = ErrorCode.NOT_ENOUGH_REPLICAS
    RETRIABLE = True
    TEXT = "fewer replicas are in sync than the topic demands"


class NotEnoughReplicasAfterAppend(ApiError):
    CODE = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    RETRIABLE = True
    TEXT = "appended, but fewer replicas are in sync than the topic demands"


class InvalidRequiredAcks(ApiError):
    CODE = ErrorCode.INVALID_REQUIRED_ACKS
    RETRIABLE = False
    TEXT = "acks is neither -1, 0 nor 1"


class IllegalGeneration(ApiError):
    CODE = ErrorCode.ILLEGAL_GENERATION
    RETRIABLE = False
    TEXT = "the group has moved to another generation"


class InconsistentGroupProtocol(ApiError):
    CODE = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    RETRIABLE = False
    TEXT = "the member's protocols do not fit the group's"


class InvalidGroupId(ApiError):
    CODE = ErrorCode.INVALID_GROUP_ID
    RETRIABLE = False
    TEXT = "the group id is invalid"


class UnknownMemberId(ApiError):
    CODE = ErrorCode.UNKNOWN_MEMBER_ID
    RETRIABLE = False
    TEXT = "the coordinator does not know this member"


class InvalidSessionTimeout(ApiError):
    CODE = ErrorCode.INVALID_SESSION_TIMEOUT
    RETRIABLE = False
    TEXT = "the session timeout is outside the broker's bounds"


class RebalanceInProgress(ApiError):
    CODE = ErrorCode.REBALANCE_IN_PROGRESS
    RETRIABLE = False
    TEXT = "the group is rebalancing, join again"


class InvalidCommitOffsetSize(ApiError):
    CODE = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    RETRIABLE = False
    TEXT = "the offsets to commit are too large"


class TopicAuthorizationFailed(ApiError):
    CODE = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    RETRIABLE = False
    TEXT = "not authorized for the topic"


class GroupAuthorizationFailed(ApiError):
    CODE = ErrorCode.GROUP_AUTHORIZATION_FAILED
    RETRIABLE = False
    TEXT = "not authorized for the group"


class ClusterAuthorizationFailed(ApiError):
    CODE = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    RETRIABLE = False
    TEXT = "not authorized for the cluster"


class InvalidTimestamp(ApiError):
    CODE = ErrorCode.INVALID_TIMESTAMP
    RETRIABLE = False
    TEXT = "a record's timestamp is out of the allowed range"


class UnsupportedSaslMechanism(ApiError):
    CODE = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    RETRIABLE = False
    TEXT = "the SASL mechanism is not enabled here"


class IllegalSaslState(ApiError):
    CODE = ErrorCode.ILLEGAL_SASL_STATE
    RETRIABLE = False
    TEXT = "this request does not fit the state of the SASL exchange"


class UnsupportedVersion(ApiError):
    CODE = ErrorCode.UNSUPPORTED_VERSION
    RETRIABLE = False
    TEXT = "the version is not supported"


class TopicAlreadyExists(ApiError):
    CODE = ErrorCode.TOPIC_ALREADY_EXISTS
    RETRIABLE = False
    TEXT = "a topic with this name exists"


class InvalidPartitions(ApiError):
    CODE = ErrorCode.INVALID_PARTITIONS
    RETRIABLE = False
    TEXT = "the number of partitions is invalid"


class InvalidReplicationFactor(ApiError):
    CODE = ErrorCode.INVALID_REPLICATION_FACTOR
    RETRIABLE = False
    TEXT = "the replication factor is invalid or exceeds the brokers"


class InvalidReplicaAssignment(ApiError):
    CODE = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    RETRIABLE = False
    TEXT = "the replica assignment is invalid"


class InvalidConfig(ApiError):
    CODE = ErrorCode.INVALID_CONFIG
    RETRIABLE = False
    TEXT = "the configuration is invalid"


class NotController(ApiError):
    CODE = ErrorCode.NOT_CONTROLLER
    RETRIABLE = True
    TEXT = "this node is not the active controller"


class InvalidRequest(ApiError):
    CODE = ErrorCode.INVALID_REQUEST
    RETRIABLE = False
    TEXT = "the request contradicts the protocol"


class UnsupportedForMessageFormat(ApiError):
    CODE = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    RETRIABLE = False
    TEXT = "the message format does not allow this"


class PolicyViolation(ApiError):
    CODE = ErrorCode.POLICY_VIOLATION
    RETRIABLE = False
    TEXT = "a policy of the server forbids this"


class OutOfOrderSequenceNumber(ApiError):
    CODE = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    RETRIABLE = False
    TEXT = "the producer skipped a sequence number"


class DuplicateSequenceNumber(ApiError):
    CODE = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    RETRIABLE = False
    TEXT = "this sequence number has been written before"


class InvalidProducerEpoch(ApiError):
    CODE = ErrorCode.INVALID_PRODUCER_EPOCH
    RETRIABLE = False
    TEXT = "a newer producer uses this id"


class InvalidTxnState(ApiError):
    CODE = ErrorCode.INVALID_TXN_STATE
    RETRIABLE = False
    TEXT = "the transaction's state does not allow this"


class InvalidProducerIdMapping(ApiError):
    CODE = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    RETRIABLE = False
    TEXT = "the producer id does not belong to the transactional id"


class InvalidTransactionTimeout(ApiError):
    CODE = ErrorCode.INVALID_TRANSACTION_TIMEOUT
    RETRIABLE = False
    TEXT = "the transaction timeout exceeds the broker's bound"


class ConcurrentTransactions(ApiError):
    CODE = ErrorCode.CONCURRENT_TRANSACTIONS
    RETRIABLE = True
    TEXT = "another operation on the transaction is under way"


class TransactionCoordinatorFenced(ApiError):
    CODE = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    RETRIABLE = False
    TEXT = "a newer coordinator has taken over"


class TransactionalIdAuthorizationFailed(ApiError):
    CODE = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    RETRIABLE = False
    TEXT = "not authorized for the transactional id"


class SecurityDisabled(ApiError):
    CODE = ErrorCode.SECURITY_DISABLED
    RETRIABLE = False
    TEXT = "security is not enabled here"


class OperationNotAttempted(ApiError):
    CODE = ErrorCode.OPERATION_NOT_ATTEMPTED
    RETRIABLE = False
    TEXT = "not attempted, because another part of the batch failed"


class KafkaStorageError(ApiError):
    CODE = ErrorCode.KAFKA_STORAGE_ERROR
    RETRIABLE = True
    TEXT = "the disk failed while the log was read or written"


class LogDirNotFound(ApiError):
    CODE = ErrorCode.LOG_DIR_NOT_FOUND
    RETRIABLE = False
    TEXT = "the broker has no such log directory"


class SaslAuthenticationFailed(ApiError):
    CODE = ErrorCode.SASL_AUTHENTICATION_FAILED
    RETRIABLE = False
    TEXT = "authentication failed"


class UnknownProducerId(ApiError):
    CODE = ErrorCode.UNKNOWN_PRODUCER_ID
    RETRIABLE = False
    TEXT = "the broker knows nothing of this producer id"


class ReassignmentInProgress(ApiError):
    CODE = ErrorCode.REASSIGNMENT_IN_PROGRESS
    RETRIABLE = False
    TEXT = "the partition is being reassigned"


class DelegationTokenAuthDisabled(ApiError):
    CODE = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    RETRIABLE = False
    TEXT = "delegation tokens are not enabled"


class DelegationTokenNotFound(ApiError):
    CODE = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    RETRIABLE = False
    TEXT = "there is no such delegation token"


class DelegationTokenOwnerMismatch(ApiError):
    CODE = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    RETRIABLE = False
    TEXT = "the delegation token belongs to another principal"


class DelegationTokenRequestNotAllowed(ApiError):
    CODE = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    RETRIABLE = False
    TEXT = "delegation tokens need another authentication than this connection's"


class DelegationTokenAuthorizationFailed(ApiError):
    CODE = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    RETRIABLE = False
    TEXT = "not authorized for the delegation token"


class DelegationTokenExpired(ApiError):
    CODE = ErrorCode.DELEGATION_TOKEN_EXPIRED
    RETRIABLE = False
    TEXT = "the delegation token has expired"


class InvalidPrincipalType(ApiError):
    CODE = ErrorCode.INVALID_PRINCIPAL_TYPE
    RETRIABLE = False
    TEXT = "the principal's type is not supported"


class NonEmptyGroup(ApiError):
    CODE = ErrorCode.NON_EMPTY_GROUP
    RETRIABLE = False
    TEXT = "the group still has members"


class GroupIdNotFound(ApiError):
    CODE = ErrorCode.GROUP_ID_NOT_FOUND
    RETRIABLE = False
    TEXT = "there is no such group"


class FetchSessionIdNotFound(ApiError):
    CODE = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    RETRIABLE = True
    TEXT = "the fetch session is gone"


class InvalidFetchSessionEpoch(ApiError):
    CODE = ErrorCode.INVALID_FETCH_SESSION_EPOCH
    RETRIABLE = True
    TEXT = "the fetch session is at another epoch"


class ListenerNotFound(ApiError):
    CODE = ErrorCode.LISTENER_NOT_FOUND
    RETRIABLE = True
    TEXT = "the leader has no listener of the name that was used"


class TopicDeletionDisabled(ApiError):
    CODE = ErrorCode.TOPIC_DELETION_DISABLED
    RETRIABLE = False
    TEXT = "topics may not be deleted here"


class FencedLeaderEpoch(ApiError):
    CODE = ErrorCode.FENCED_LEADER_EPOCH
    RETRIABLE = True
    TEXT = "the leader epoch is older than the replica's"


class UnknownLeaderEpoch(ApiError):
    CODE = ErrorCode.UNKNOWN_LEADER_EPOCH
    RETRIABLE = True
    TEXT = "the leader epoch is newer than the replica's"


class UnsupportedCompressionType(ApiError):
    CODE = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    RETRIABLE = False
    TEXT = "the compression is not supported here"


class StaleBrokerEpoch(ApiError):
    CODE = ErrorCode.STALE_BROKER_EPOCH
    RETRIABLE = False
    TEXT = "the broker's epoch has passed"


class OffsetNotAvailable(ApiError):
    CODE = ErrorCode.OFFSET_NOT_AVAILABLE
    RETRIABLE = True
    TEXT = "the leader's high watermark has not caught up since its election"


class MemberIdRequired(ApiError):
    CODE = ErrorCode.MEMBER_ID_REQUIRED
    RETRIABLE = False
    TEXT = "join again with the member id of this reply"


class PreferredLeaderNotAvailable(ApiError):
    CODE = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    RETRIABLE = True
    TEXT = "the preferred leader is not available"


class GroupMaxSizeReached(ApiError):
    CODE = ErrorCode.GROUP_MAX_SIZE_REACHED
    RETRIABLE = False
    TEXT = "the group is full"


class FencedInstanceId(ApiError):
    CODE = ErrorCode.FENCED_INSTANCE_ID
    RETRIABLE = False
    TEXT = "another member has taken this static instance id"


class EligibleLeadersNotAvailable(ApiError):
    CODE = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    RETRIABLE = True
    TEXT = "no replica may become the leader"


class ElectionNotNeeded(ApiError):
    CODE = ErrorCode.ELECTION_NOT_NEEDED
    RETRIABLE = True
    TEXT = "the partition has the leader that was asked for"


class NoReassignmentInProgress(ApiError):
    CODE = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    RETRIABLE = False
    TEXT = "nothing is being reassigned"


class GroupSubscribedToTopic(ApiError):
    CODE = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    RETRIABLE = False
    TEXT = "the group is subscribed to the topic"


class InvalidRecord(ApiError):
    CODE = ErrorCode.INVALID_RECORD
    RETRIABLE = False
    TEXT = "a record does not pass the broker's checks"


class UnstableOffsetCommit(ApiError):
    CODE = ErrorCode.UNSTABLE_OFFSET_COMMIT
    RETRIABLE = True
    TEXT = "there are offsets of a transaction that is not yet decided"


class ThrottlingQuotaExceeded(ApiError):
    CODE = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    RETRIABLE = True
    TEXT = "the quota is exhausted for now"


class ProducerFenced(ApiError):
    CODE = ErrorCode.PRODUCER_FENCED
    RETRIABLE = False
    TEXT = "a newer producer uses this transactional id"


class ResourceNotFound(ApiError):
    CODE = ErrorCode.RESOURCE_NOT_FOUND
    RETRIABLE = False
    TEXT = "there is no such resource"


class DuplicateResource(ApiError):
    CODE = ErrorCode.DUPLICATE_RESOURCE
    RETRIABLE = False
    TEXT = "the resource exists"


class UnacceptableCredential(ApiError):
    CODE = ErrorCode.UNACCEPTABLE_CREDENTIAL
    RETRIABLE = False
    TEXT = "the credential does not meet the requirements"


class InconsistentVoterSet(ApiError):
    CODE = ErrorCode.INCONSISTENT_VOTER_SET
    RETRIABLE = False
    TEXT = "only one side counts the other as a voter"


class InvalidUpdateVersion(ApiError):
    CODE = ErrorCode.INVALID_UPDATE_VERSION
    RETRIABLE = False
    TEXT = "the update's version is not the expected one"


class FeatureUpdateFailed(ApiError):
    CODE = ErrorCode.FEATURE_UPDATE_FAILED
    RETRIABLE = False
    TEXT = "the features could not be updated"


class PrincipalDeserializationFailure(ApiError):
    CODE = ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
    RETRIABLE = False
    TEXT = "the forwarded principal cannot be read"


class SnapshotNotFound(ApiError):
    CODE = ErrorCode.SNAPSHOT_NOT_FOUND
    RETRIABLE = False
    TEXT = "there is no such snapshot"


class PositionOutOfRange(ApiError):
    CODE = ErrorCode.POSITION_OUT_OF_RANGE
    RETRIABLE = False
    TEXT = "the position is outside the snapshot"


class UnknownTopicId(ApiError):
    CODE = ErrorCode.UNKNOWN_TOPIC_ID
    RETRIABLE = True
    TEXT = "this node does not host the topic id"


class DuplicateBrokerRegistration(ApiError):
    CODE = ErrorCode.DUPLICATE_BROKER_REGISTRATION
    RETRIABLE = False
    TEXT = "another process holds this broker id"


class BrokerIdNotRegistered(ApiError):
    CODE = ErrorCode.BROKER_ID_NOT_REGISTERED
    RETRIABLE = False
    TEXT = "the broker id is not registered"


class InconsistentTopicId(ApiError):
    CODE = ErrorCode.INCONSISTENT_TOPIC_ID
    RETRIABLE = True
    TEXT = "the log carries another topic id"


class InconsistentClusterId(ApiError):
    CODE = ErrorCode.INCONSISTENT_CLUSTER_ID
    RETRIABLE = False
    TEXT = "this node belongs to another cluster"


class TransactionalIdNotFound(ApiError):
    CODE = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    RETRIABLE = False
    TEXT = "there is no such transactional id"


class FetchSessionTopicIdError(ApiError):
    CODE = ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    RETRIABLE = True
    TEXT = "the fetch session mixes topic names and topic ids"


class IneligibleReplica(ApiError):
    CODE = ErrorCode.INELIGIBLE_REPLICA
    RETRIABLE = False
    TEXT = "the replica may not join the in-sync set"


class NewLeaderElected(ApiError):
    CODE = ErrorCode.NEW_LEADER_ELECTED
    RETRIABLE = False
    TEXT = "the change was made and the partition has another leader now"


class OffsetMovedToTieredStorage(ApiError):
    CODE = ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE
    RETRIABLE = False
    TEXT = "the offset has moved to remote storage"


class FencedMemberEpoch(ApiError):
    CODE = ErrorCode.FENCED_MEMBER_EPOCH
    RETRIABLE = False
    TEXT = "the member was fenced, join again"


class UnreleasedInstanceId(ApiError):
    CODE = ErrorCode.UNRELEASED_INSTANCE_ID
    RETRIABLE = False
    TEXT = "the static instance id is still in use"


class UnsupportedAssignor(ApiError):
    CODE = ErrorCode.UNSUPPORTED_ASSIGNOR
    RETRIABLE = False
    TEXT = "no assignor of the request is supported"


class StaleMemberEpoch(ApiError):
    CODE = ErrorCode.STALE_MEMBER_EPOCH
    RETRIABLE = False
    TEXT = "the member's epoch has passed"


class MismatchedEndpointType(ApiError):
    CODE = ErrorCode.MISMATCHED_ENDPOINT_TYPE
    RETRIABLE = False
    TEXT = "the request was sent to the wrong kind of endpoint"


class UnsupportedEndpointType(ApiError):
    CODE = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    RETRIABLE = False
    TEXT = "this endpoint type is not supported yet"


class UnknownControllerId(ApiError):
    CODE = ErrorCode.UNKNOWN_CONTROLLER_ID
    RETRIABLE = False
    TEXT = "this controller id is not known"


class UnknownSubscriptionId(ApiError):
    CODE = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    RETRIABLE = False
    TEXT = "the telemetry subscription is unknown or outdated"


class TelemetryTooLarge(ApiError):
    CODE = ErrorCode.TELEMETRY_TOO_LARGE
    RETRIABLE = False
    TEXT = "the telemetry is larger than the broker accepts"


class InvalidRegistration(ApiError):
    CODE = ErrorCode.INVALID_REGISTRATION
    RETRIABLE = False
    TEXT = "the controller considers the broker's registration invalid"


class TransactionAbortable(ApiError):
    CODE = ErrorCode.TRANSACTION_ABORTABLE
    RETRIABLE = False
    TEXT = "the transaction must be aborted before it can go on"


class InvalidRecordState(ApiError):
    CODE = ErrorCode.INVALID_RECORD_STATE
    RETRIABLE = False
    TEXT = "the share group's record is in another state"


class ShareSessionNotFound(ApiError):
    CODE = ErrorCode.SHARE_SESSION_NOT_FOUND
    RETRIABLE = True
    TEXT = "the share session is gone"


class InvalidShareSessionEpoch(ApiError):
    CODE = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    RETRIABLE = True
    TEXT = "the share session is at another epoch"


class FencedStateEpoch(ApiError):
    CODE = ErrorCode.FENCED_STATE_EPOCH
    RETRIABLE = False
    TEXT = "the share coordinator's state has moved on"


class InvalidVoterKey(ApiError):
    CODE = ErrorCode.INVALID_VOTER_KEY
    RETRIABLE = False
    TEXT = "the voter key is not the receiver's"


class DuplicateVoter(ApiError):
    CODE = ErrorCode.DUPLICATE_VOTER
    RETRIABLE = False
    TEXT = "the voter is in the voter set"


class VoterNotFound(ApiError):
    CODE = ErrorCode.VOTER_NOT_FOUND
    RETRIABLE = False
    TEXT = "the voter is not in the voter set"


class InvalidRegularExpression(ApiError):
    CODE = ErrorCode.INVALID_REGULAR_EXPRESSION
    RETRIABLE = False
    TEXT = "the regular expression is invalid"


class RebootstrapRequired(ApiError):
    CODE = ErrorCode.REBOOTSTRAP_REQUIRED
    RETRIABLE = False
    TEXT = "the client's metadata is out of date, bootstrap anew"


class StreamsInvalidTopology(ApiError):
    CODE = ErrorCode.STREAMS_INVALID_TOPOLOGY
    RETRIABLE = False
    TEXT = "the topology is invalid"


class StreamsInvalidTopologyEpoch(ApiError):
    CODE = ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH
    RETRIABLE = False
    TEXT = "the topology's epoch is invalid"


class StreamsTopologyFenced(ApiError):
    CODE = ErrorCode.STREAMS_TOPOLOGY_FENCED
    RETRIABLE = False
    TEXT = "the topology's epoch has passed"


class ShareSessionLimitReached(ApiError):
    CODE = ErrorCode.SHARE_SESSION_LIMIT_REACHED
    RETRIABLE = True
    TEXT = "the broker has no room for another share session"


_classes: Final = {int(cls.CODE): cls for cls in ApiError.__subclasses__()}


def exception_for(code: int, message: str | None = None) -> ApiError | None:
    """The exception of a code, None for NONE; a code from the future counts as UNKNOWN_SERVER_ERROR and is named."""
    if code == ErrorCode.NONE:
        return None
    found = _classes.get(code)
    if found is None:
        return UnknownServerError(f"unknown error code {code}" + (f": {message}" if message else ""))
    return found(message)
