"""An error as Apache Kafka's tools name it: the Java exception's class, then the message."""

from __future__ import annotations

from typing import Final

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
}


def java_name(code: ErrorCode) -> str:
    """The simple class name."""
    regular = "".join(word.capitalize() for word in code.name.split("_")) + "Exception"
    return _IRREGULAR.get(code, regular)


def java_text(error: ApiError) -> str:
    return f"{_PACKAGE}{java_name(error.code)}: {error.message}"


def timeout_text(message: str) -> str:
    """What a Java client says when nobody answers."""
    return f"{_PACKAGE}TimeoutException: {message}"
