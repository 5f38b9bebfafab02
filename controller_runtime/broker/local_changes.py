"""What changes for many partitions of this broker at once, in pieces: a new image, a log directory that fails, strays.

The image says what should be here, once it is as new as this broker's registration: before, nothing is opened and
nothing is deleted. One image is acted on after the other, each whole, but for those that newer ones overtake; meanwhile
clients are answered as each partition is by then, so one that is not reached yet is not led here yet. What a piece
changes is seen at its end, by whoever waits for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from controller_runtime.broker.effects import BrokerEffect, SetAsideStrays
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.identifiers import DirectoryId, NodeId, PartitionId
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC, ConfigsImage
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.parts.pieces import InPieces, LongWork

Changes = InPieces[BrokerEffect, None]
"""In the order in which they are to be done; None: a piece may end here."""


class LocalChanges:
    def __init__(self, partitions: LocalPartitions, node_id: NodeId) -> None:
        self._partitions = partitions
        self._node_id = node_id
        self._works: deque[LongWork[BrokerEffect, None]] = deque()
        """The first one is under way."""
        self._acting_on: MetadataImage | None = None
        """What is opened and led here is as this image says, or will be when the works are done. None: nothing is,
        before the strays are set aside.
        """
        self._has_begun = False
        """Everything that the first image had here was seen."""
        self._kept: frozenset[PartitionId] = frozenset()
        """What was no stray when they were set aside."""

    @property
    def is_behind(self) -> bool:
        """There is more to do: call `go_on` in the next step."""
        return bool(self._works)

    @property
    def is_recovered(self) -> bool:
        """The log of every replica is open, or offline."""
        return self._has_begun and not self._partitions.has_opening

    def on_image(self, image: MetadataImage) -> None:
        """Open, close and lead what changed since the last image, if this broker has begun with an earlier one."""
        self._partitions.see(image)
        self._follow()
        self._say_behind()

    def begin(self) -> None:
        """The image is new enough to believe what it does not have: what lies here and is not in it is stray."""
        self._works.append(LongWork(self._look_for_strays()))
        self._say_behind()

    def on_strays_set_aside(self) -> None:
        """Open everything that the image has here. What was deleted meanwhile is stray, too."""
        self._works.append(LongWork(self._open_all()))
        self._say_behind()

    def on_directory_failed(self, directory_id: DirectoryId, reason: str) -> None:
        """At once, whatever else is to be done. What is written there meanwhile is refused by the data plane."""
        self._works.appendleft(LongWork(self._lose(directory_id, reason)))

    def go_on(self) -> list[BrokerEffect]:
        """The next piece."""
        out: list[BrokerEffect] = []
        if self._works:
            work = self._works[0]
            work.go_on(out)
            if work.is_over:
                self._works.popleft()
                self._follow()
                self._say_behind()
        return out

    def _say_behind(self) -> None:
        self._partitions.is_behind = self.is_behind

    def _follow(self) -> None:
        """Act on the newest image, when the one before it was acted on."""
        acting_on, newest = self._acting_on, self._partitions.image
        if acting_on is not None and not self._works and newest is not acting_on:
            self._works.append(LongWork(self._act(acting_on, newest)))

    # Before anything is opened.

    def _look_for_strays(self) -> Changes:
        kept: set[PartitionId] = set()
        for topic in self._partitions.image.topics:
            yield None
            for index, partition in topic.partitions_naming(self._node_id):
                if self._node_id in partition.replicas:
                    kept.add(PartitionId(topic.id, index))
                yield None
        self._kept = frozenset(kept)
        yield SetAsideStrays(self._kept)

    def _open_all(self) -> Changes:
        image = self._partitions.image
        for key in self._kept:
            partition = image.topics.partition(key.topic_id, key.index)
            if partition is None or self._node_id not in partition.replicas:
                yield from self._look_for_strays()
                return
            yield None
        yield from self._act(MetadataImage.empty(), image)
        self._has_begun = True

    # From one image to the next.

    def _act(self, before: MetadataImage, image: MetadataImage) -> Changes:
        self._acting_on, is_first = image, not self._has_begun
        if image.configs is not before.configs:  # what comes now brings its own
            yield from self._configure(before.configs, image)
        if image.topics is not before.topics:
            # What is gone leaves its directories first: a new topic of the same name has the same ones.
            for old, new in image.topics.changes_since(before.topics):
                yield None
                if old is not None and new is None:
                    for index in range(old.partition_count):
                        yield from _each(self._partitions.close(PartitionId(old.id, index)))
            for old, new in image.topics.changes_since(before.topics):
                yield None
                if new is not None:
                    for index, partition in new.changes_since(old):
                        yield from _each(self._partitions.on_partition(new, index, partition, is_first=is_first))

    def _configure(self, before: ConfigsImage, image: MetadataImage) -> Changes:
        """Changed values reach the logs that are open, or being opened."""
        for topic in self._configured(before, image):
            yield None
            for index in range(topic.partition_count):
                yield from _each(self._partitions.configure(PartitionId(topic.id, index)))

    def _configured(self, before: ConfigsImage, image: MetadataImage) -> Iterator[TopicImage]:
        """Topics whose effective configuration may have changed."""
        of_topics: set[str] = set()
        for resource_type, name, _ in image.configs.changes_since(before):
            if resource_type == TOPIC:
                of_topics.add(name)
            elif resource_type == BROKER and name in (ALL_BROKERS, str(self._node_id)):
                return iter(image.topics)  # a default of every topic
        named = (image.topics.named(name) for name in sorted(of_topics))
        return (topic for topic in named if topic is not None)

    # A directory that fails.

    def _lose(self, directory_id: DirectoryId, reason: str) -> Changes:
        for key in self._partitions.here():
            self._partitions.lose(key, directory_id, reason)
            yield None


def _each(effects: list[BrokerEffect]) -> Changes:
    """At least one unit."""
    yield from effects or (None,)
