"""What `error_responses` has for requests about the state of share groups: each partition gets the error.

Imported when the first such request fails.
"""

from __future__ import annotations

from typing import Any, Final

from controller_runtime.protocol.messages import (
    delete_share_group_state_response,
    initialize_share_group_state_response,
    read_share_group_state_response,
    read_share_group_state_summary_response,
    write_share_group_state_response,
)
from controller_runtime.protocol.schema import Message

_Shape = tuple[type[Any], type[Any], type[Any]]
"""Of a partition, a topic, all of them."""
_SHAPES: Final[dict[str, _Shape]] = {
    "InitializeShareGroupStateRequest": (
        initialize_share_group_state_response.PartitionResult,
        initialize_share_group_state_response.InitializeStateResult,
        initialize_share_group_state_response.InitializeShareGroupStateResponse,
    ),
    "ReadShareGroupStateRequest": (
        read_share_group_state_response.PartitionResult,
        read_share_group_state_response.ReadStateResult,
        read_share_group_state_response.ReadShareGroupStateResponse,
    ),
    "WriteShareGroupStateRequest": (
        write_share_group_state_response.PartitionResult,
        write_share_group_state_response.WriteStateResult,
        write_share_group_state_response.WriteShareGroupStateResponse,
    ),
    "DeleteShareGroupStateRequest": (
        delete_share_group_state_response.PartitionResult,
        delete_share_group_state_response.DeleteStateResult,
        delete_share_group_state_response.DeleteShareGroupStateResponse,
    ),
    "ReadShareGroupStateSummaryRequest": (
        read_share_group_state_summary_response.PartitionResult,
        read_share_group_state_summary_response.ReadStateSummaryResult,
        read_share_group_state_summary_response.ReadShareGroupStateSummaryResponse,
    ),
}


def refused(request: Any, error: int, message: str | None) -> Message:
    partition, topic, response = _SHAPES[type(request).__name__]
    results = tuple(
        topic(
            topic_id=each.topic_id,
            partitions=tuple(
                partition(partition=one.partition, error_code=error, error_message=message) for one in each.partitions
            ),
        )
        for each in request.topics
    )
    answer: Message = response(results=results)
    return answer
