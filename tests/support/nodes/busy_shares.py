"""Requests to a share coordinator that touch every partition, for a broker whose steps are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages import delete_share_group_state_request as deletes
from controller_runtime.protocol.messages import initialize_share_group_state_request as initializes
from controller_runtime.protocol.messages import read_share_group_state_request as reads
from controller_runtime.protocol.messages import read_share_group_state_summary_request as summaries
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.protocol.schema import Message

GROUP = "shares"


def of_shares(topic_ids: Sequence[Uuid], per_topic: int) -> Mapping[str, Message]:
    indexes = range(per_topic)
    batches = tuple(writes.StateBatch(first_offset=n * 3, last_offset=n * 3 + 1) for n in range(10))
    begun = tuple(initializes.PartitionData(partition=n, state_epoch=1) for n in indexes)
    changed = tuple(writes.PartitionData(partition=n, state_epoch=1, state_batches=batches) for n in indexes)
    seen = tuple(reads.PartitionData(partition=n, leader_epoch=1) for n in indexes)
    summed = tuple(summaries.PartitionData(partition=n) for n in indexes)
    gone = tuple(deletes.PartitionData(partition=n) for n in indexes)
    return {
        "InitializeShareGroupState": initializes.InitializeShareGroupStateRequest(
            group_id=GROUP,
            topics=tuple(initializes.InitializeStateData(topic_id=each, partitions=begun) for each in topic_ids),
        ),
        "WriteShareGroupState": writes.WriteShareGroupStateRequest(
            group_id=GROUP,
            topics=tuple(writes.WriteStateData(topic_id=each, partitions=changed) for each in topic_ids),
        ),
        "ReadShareGroupState": reads.ReadShareGroupStateRequest(
            group_id=GROUP, topics=tuple(reads.ReadStateData(topic_id=each, partitions=seen) for each in topic_ids)
        ),
        "ReadShareGroupStateSummary": summaries.ReadShareGroupStateSummaryRequest(
            group_id=GROUP,
            topics=tuple(summaries.ReadStateSummaryData(topic_id=each, partitions=summed) for each in topic_ids),
        ),
        "DeleteShareGroupState": deletes.DeleteShareGroupStateRequest(
            group_id=GROUP, topics=tuple(deletes.DeleteStateData(topic_id=each, partitions=gone) for each in topic_ids)
        ),
    }
