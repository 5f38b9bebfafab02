"""The messages of the records of groups of the consumer protocol, by short names."""

from __future__ import annotations

from controller_runtime.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey as CurrentKey,
)
from controller_runtime.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue as CurrentValue,
)
from controller_runtime.protocol.messages.consumer_group_current_member_assignment_value import (
    TopicPartitions as CurrentPartitions,
)
from controller_runtime.protocol.messages.consumer_group_member_metadata_key import (
    ConsumerGroupMemberMetadataKey as MemberKey,
)
from controller_runtime.protocol.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ClassicProtocol,
)
from controller_runtime.protocol.messages.consumer_group_member_metadata_value import (
    ConsumerGroupMemberMetadataValue as MemberValue,
)
from controller_runtime.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey as EpochKey
from controller_runtime.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue as EpochValue
from controller_runtime.protocol.messages.consumer_group_partition_metadata_key import (
    ConsumerGroupPartitionMetadataKey as OldMetadataKey,
)
from controller_runtime.protocol.messages.consumer_group_partition_metadata_value import (
    ConsumerGroupPartitionMetadataValue as OldMetadataValue,
)
from controller_runtime.protocol.messages.consumer_group_regular_expression_key import (
    ConsumerGroupRegularExpressionKey as PatternKey,
)
from controller_runtime.protocol.messages.consumer_group_regular_expression_value import (
    ConsumerGroupRegularExpressionValue as PatternValue,
)
from controller_runtime.protocol.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey as TargetKey,
)
from controller_runtime.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue as TargetValue,
)
from controller_runtime.protocol.messages.consumer_group_target_assignment_member_value import (
    TopicPartition as TargetPartition,
)
from controller_runtime.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey as TargetEpochKey,
)
from controller_runtime.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue as TargetEpochValue,
)

__all__ = [
    "ClassicMemberMetadata",
    "ClassicProtocol",
    "CurrentKey",
    "CurrentPartitions",
    "CurrentValue",
    "EpochKey",
    "EpochValue",
    "MemberKey",
    "MemberValue",
    "OldMetadataKey",
    "OldMetadataValue",
    "PatternKey",
    "PatternValue",
    "TargetEpochKey",
    "TargetEpochValue",
    "TargetKey",
    "TargetPartition",
    "TargetValue",
]
