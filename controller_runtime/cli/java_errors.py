"""An error as Apache Kafka's tools name it: the Java exception's class, then the message."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Final

from controller_runtime.cli.error_words import words
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.protocol.errors import ErrorCode

_PACKAGE: Final = "org.apache.kafka.common.errors."

_IRREGULAR: Final = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLargeException",
    ErrorCode.NETWORK_EXCEPTION: "NetworkException",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    ErrorCode.RECORD_LIST_TOO_LARGE: "RecordBatchTooLargeException",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationException",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    ErrorCode.UNSUPPORTED_VERSION: "UnsupportedVersionException",
    ErrorCode.STALE_CONTROLLER_EPOCH: "ControllerMovedException",
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "OffsetMetadataTooLarge",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "DuplicateSequenceException",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMappingException",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeoutException",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "SaslAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "DelegationTokenDisabledException",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "UnsupportedByAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "DelegationTokenAuthorizationException",
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmptyException",
    ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE: "PrincipalDeserializationException",
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: "FetchSessionTopicIdException",
    ErrorCode.INVALID_REGULAR_EXPRESSION: "InvalidRegularExpression",
}


def java_name(code: ErrorCode) -> str:
    """The simple class name."""
    regular = "".join(word.capitalize() for word in code.name.split("_")) + "Exception"
    return _IRREGULAR.get(code, regular)


def java_class(code: ErrorCode) -> str:
    """The class name with its package."""
    return _PACKAGE + java_name(code)


def java_text(error: ApiError) -> str:
    return f"{_PACKAGE}{java_name(error.code)}: {words(error)}"


def timeout_text(message: str) -> str:
    """What a Java client says when nobody answers."""
    return f"{_PACKAGE}TimeoutException: {message}"


def parse_uuid(text: str) -> Uuid:
    """As Kafka's `Uuid.fromString`. Raises ValueError in its words."""
    if len(text) > 24:
        raise ValueError(f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID")
    bare = text.rstrip("=")
    for letter in bare:
        if not (letter.isascii() and letter.isalnum()) and letter not in "-_":
            raise ValueError(f"Illegal base64 character {ord(letter):x}")
    if len(bare) % 4 == 1:
        raise ValueError("Last unit does not have enough valid bits")
    decoded = urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    if len(decoded) != 16:
        not_equal = "which is not equal to the expected 16 bytes of a base64-encoded UUID"
        raise ValueError(f"Input string `{text}` decoded as {len(decoded)} bytes, {not_equal}")
    return Uuid(decoded)
