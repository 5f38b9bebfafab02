"""What a running node tells its probes and metrics, read from the node when somebody asks."""

from __future__ import annotations

import os
from typing import Final

from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.metadata_replica import MetadataReplica
from controller_runtime.server.metrics import ImageFacts, RaftFacts

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def raft_facts(meta: MetadataReplica, observers: int | None) -> RaftFacts:
    replica = meta.replica
    return RaftFacts(
        state=type(replica.role).__name__.lower(),
        epoch=replica.epoch,
        leader_id=replica.leader_id,
        voted_id=None,
        high_watermark=replica.high_watermark,
        log_end_offset=replica.log.end_offset,
        log_end_epoch=replica.log.last_epoch,
        voters=len(replica.voters),
        observers=observers,
    )


def resident_bytes() -> int:
    """RSS, as /proc tells it."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE_BYTES


def image_facts(image: MetadataImage) -> ImageFacts:
    brokers = tuple(image.cluster.brokers.values())
    leaders = [topic.leader(index) for topic in image.topics for index in range(topic.partition_count)]
    return ImageFacts(
        active_brokers=sum(not broker.fenced for broker in brokers),
        fenced_brokers=sum(broker.fenced for broker in brokers),
        topics=len(image.topics),
        partitions=len(leaders),
        offline_partitions=sum(leader is not None and leader < 0 for leader in leaders),
        metadata_version=image.features.metadata_version,
        finalized=dict(image.features.levels),
    )
