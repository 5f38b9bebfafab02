"""The messages of the records of streams groups, by short names."""

from __future__ import annotations

from controller_runtime.protocol.messages.streams_group_current_member_assignment_key import (
    StreamsGroupCurrentMemberAssignmentKey as CurrentKey,
)
from controller_runtime.protocol.messages.streams_group_current_member_assignment_value import (
    StreamsGroupCurrentMemberAssignmentValue as CurrentValue,
)
from controller_runtime.protocol.messages.streams_group_current_member_assignment_value import TaskIds as CurrentTasks
from controller_runtime.protocol.messages.streams_group_member_metadata_key import (
    StreamsGroupMemberMetadataKey as MemberKey,
)
from controller_runtime.protocol.messages.streams_group_member_metadata_value import Endpoint, KeyValue
from controller_runtime.protocol.messages.streams_group_member_metadata_value import (
    StreamsGroupMemberMetadataValue as MemberValue,
)
from controller_runtime.protocol.messages.streams_group_metadata_key import StreamsGroupMetadataKey as EpochKey
from controller_runtime.protocol.messages.streams_group_metadata_value import LastAssignmentConfig
from controller_runtime.protocol.messages.streams_group_metadata_value import StreamsGroupMetadataValue as EpochValue
from controller_runtime.protocol.messages.streams_group_target_assignment_member_key import (
    StreamsGroupTargetAssignmentMemberKey as TargetKey,
)
from controller_runtime.protocol.messages.streams_group_target_assignment_member_value import (
    StreamsGroupTargetAssignmentMemberValue as TargetValue,
)
from controller_runtime.protocol.messages.streams_group_target_assignment_member_value import TaskIds as TargetTasks
from controller_runtime.protocol.messages.streams_group_target_assignment_metadata_key import (
    StreamsGroupTargetAssignmentMetadataKey as TargetEpochKey,
)
from controller_runtime.protocol.messages.streams_group_target_assignment_metadata_value import (
    StreamsGroupTargetAssignmentMetadataValue as TargetEpochValue,
)
from controller_runtime.protocol.messages.streams_group_topology_key import StreamsGroupTopologyKey as TopologyKey
from controller_runtime.protocol.messages.streams_group_topology_value import StreamsGroupTopologyValue as TopologyValue

__all__ = [
    "CurrentKey",
    "CurrentTasks",
    "CurrentValue",
    "Endpoint",
    "EpochKey",
    "EpochValue",
    "KeyValue",
    "LastAssignmentConfig",
    "MemberKey",
    "MemberValue",
    "TargetEpochKey",
    "TargetEpochValue",
    "TargetKey",
    "TargetTasks",
    "TargetValue",
    "TopologyKey",
    "TopologyValue",
]
