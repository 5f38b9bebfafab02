"""The messages of the records of share groups, by short names."""

from __future__ import annotations

from controller_runtime.protocol.messages.share_group_current_member_assignment_key import (
    ShareGroupCurrentMemberAssignmentKey as CurrentKey,
)
from controller_runtime.protocol.messages.share_group_current_member_assignment_value import (
    ShareGroupCurrentMemberAssignmentValue as CurrentValue,
)
from controller_runtime.protocol.messages.share_group_current_member_assignment_value import (
    TopicPartitions as CurrentPartitions,
)
from controller_runtime.protocol.messages.share_group_member_metadata_key import (
    ShareGroupMemberMetadataKey as MemberKey,
)
from controller_runtime.protocol.messages.share_group_member_metadata_value import (
    ShareGroupMemberMetadataValue as MemberValue,
)
from controller_runtime.protocol.messages.share_group_metadata_key import ShareGroupMetadataKey as EpochKey
from controller_runtime.protocol.messages.share_group_metadata_value import ShareGroupMetadataValue as EpochValue
from controller_runtime.protocol.messages.share_group_state_partition_metadata_key import (
    ShareGroupStatePartitionMetadataKey as StatesKey,
)
from controller_runtime.protocol.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue as StatesValue,
)
from controller_runtime.protocol.messages.share_group_state_partition_metadata_value import (
    TopicInfo,
    TopicPartitionsInfo,
)
from controller_runtime.protocol.messages.share_group_target_assignment_member_key import (
    ShareGroupTargetAssignmentMemberKey as TargetKey,
)
from controller_runtime.protocol.messages.share_group_target_assignment_member_value import (
    ShareGroupTargetAssignmentMemberValue as TargetValue,
)
from controller_runtime.protocol.messages.share_group_target_assignment_member_value import (
    TopicPartition as TargetPartition,
)
from controller_runtime.protocol.messages.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey as TargetEpochKey,
)
from controller_runtime.protocol.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue as TargetEpochValue,
)

__all__ = [
    "CurrentKey",
    "CurrentPartitions",
    "CurrentValue",
    "EpochKey",
    "EpochValue",
    "MemberKey",
    "MemberValue",
    "StatesKey",
    "StatesValue",
    "TargetEpochKey",
    "TargetEpochValue",
    "TargetKey",
    "TargetPartition",
    "TargetValue",
    "TopicInfo",
    "TopicPartitionsInfo",
]
