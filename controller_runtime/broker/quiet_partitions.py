"""Partitions that a follower asks for again in the same words while nothing has happened: they are not judged again.

A follower's session names all that it follows in each request, and of hundreds of partitions few have news. What was
decided about one holds as long as all that it was decided from is the same: the follower's words (one object in its
session, until it wants something else), the image, the leader's epoch, and a log of which the follower has everything
and everybody may see it. Only the time of the fetch is new.
"""

from __future__ import annotations

from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.replication.remote_replica import Judged
from controller_runtime.identifiers import PartitionId
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchTopic


class QuietPartitions:
    def __init__(self, partitions: LocalPartitions) -> None:
        self._partitions = partitions
        self._image = partitions.image
        self._number = 0
        """Of the image: nobody keeps an old one for the sake of a follower that is away."""

    def find(self, follower: int, broker_epoch: int, topic: FetchTopic, wanted: FetchPartition) -> Leader | None:
        """The partition, if it was judged before, would be judged the same, and has nothing to be read."""
        partitions = self._partitions
        if partitions.image is not self._image:
            self._image, self._number = partitions.image, self._number + 1
        leader = partitions.with_followers.get(PartitionId(topic.topic_id, wanted.partition))
        remote = None if leader is None else leader.replicas.remotes.get(follower)
        if leader is None or remote is None or remote.judged is None or remote.judged.wanted is not wanted:
            return None
        log, replicas, judged = leader.log, leader.replicas, remote.judged
        if judged.image != self._number:
            return None
        if not wanted.fetch_offset == remote.end_offset == log.written_offset == log.end_offset == log.high_watermark:
            return None
        is_settled = follower in replicas.isr and replicas.pending is None and remote.broker_epoch == broker_epoch
        return leader if is_settled else None

    def fetched(self, leader: Leader, follower: int) -> None:
        """Again, with everything."""
        leader.replicas.remotes[follower].has_everything(leader.log.written_offset, self._partitions.now)

    def judged(self, leader: Leader, follower: int, wanted: FetchPartition) -> None:
        """It is served, with what is there."""
        remote = leader.replicas.remotes[follower]
        if remote.judged is None or remote.judged.wanted is not wanted:
            remote.judged = Judged(wanted, self._number)
        else:
            remote.judged.image = self._number

    def told(self, leader: Leader, follower: int, wanted: FetchPartition) -> None:
        """An answer says where the log begins, and its high watermark."""
        remote = leader.replicas.remotes.get(follower)
        if remote is not None and remote.judged is not None and remote.judged.wanted is wanted:
            remote.judged.told = leader.log.high_watermark, leader.log.start_offset

    def is_known(self, leader: Leader, follower: int, wanted: FetchPartition) -> bool:
        """The follower has heard all that an answer would say, and does not say otherwise (KIP-1166)."""
        log, remote = leader.log, leader.replicas.remotes.get(follower)
        if remote is None or remote.judged is None or remote.judged.wanted is not wanted:
            return False
        return (
            self._partitions.with_followers.get(log.key) is leader
            and remote.judged.told == (log.high_watermark, log.start_offset)
            and wanted.high_watermark >= log.high_watermark
        )
