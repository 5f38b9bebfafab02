"""Elections of partition leaders that the log tells of, counted as Kafka's ControllerStats count them (KIP-631,
KIP-966).

Fed with every change of a partition just before it is replayed, by whoever replays: the active controller's pen, or the
feed of a standby. So every controller knows them, and one that restarts counts what it reads again, as Kafka's do.
"""

from __future__ import annotations

from controller_runtime.metadata.image import MetadataBuilder
from controller_runtime.metadata.partitions import RECOVERING
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.values import dataclass


@dataclass(slots=True)
class ElectionCounts:
    unclean: int = 0
    """Of a leader that may lack records."""
    from_elr: int = 0
    """Of one that was in the eligible leader replicas: it has all of them."""

    def about_to_replay(self, builder: MetadataBuilder, record: PartitionChangeRecord) -> None:
        if record.leader < 0:
            return  # no leader, or no change of it
        self.unclean += record.leader_recovery_state == RECOVERING
        old = builder.topics.partition(record.topic_id, record.partition_id)
        self.from_elr += old is not None and record.leader != old.leader and record.leader in old.elr
