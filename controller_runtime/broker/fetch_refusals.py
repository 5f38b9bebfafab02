"""What a Fetch is answered about partitions that are not served."""

from __future__ import annotations

from typing import Final

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData

_FIRST_VERSION_WITH_ONE_ERROR: Final = 13
UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def failed(index: int, error: ErrorCode, *, read: bool = True) -> PartitionData:
    """As Kafka's: null transactions where it came as far as to read."""
    aborted = None if read and error not in UNKNOWN else ()
    return PartitionData(
        partition_index=index, error_code=error, high_watermark=-1, aborted_transactions=aborted, records=b""
    )


def refused(request: FetchRequest, version: int, error: ErrorCode) -> FetchResponse:
    """The whole request, and up to version 12 each partition of it."""
    if version >= _FIRST_VERSION_WITH_ONE_ERROR:
        return FetchResponse(error_code=error, session_id=request.session_id)
    topics = tuple(
        FetchableTopicResponse(
            topic=topic.topic,
            partitions=tuple(failed(one.partition, error, read=False) for one in topic.partitions),
        )
        for topic in request.topics
    )
    return FetchResponse(error_code=error, session_id=request.session_id, responses=topics)
