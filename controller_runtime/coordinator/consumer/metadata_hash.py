"""What a group's assignment was made on, as one number: topics, partitions and the racks of their replicas.

When it changes the epoch of the group grows. It is Kafka's, bit for bit: whoever coordinates a group after another
coordinator does not take its topics for changed ones.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from controller_runtime.coordinator.consumer.xxh3 import xxh3_64
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topics import TopicImage

_LONG: Final = struct.Struct("<Q")
_INT: Final = struct.Struct("<i")
_SIGN: Final = 1 << 63
_LAYOUT: Final = b"\0"
_MOST: Final = 20_000


class TopicHashes:
    """Hashes of topics, remembered as long as the topics are the same (bounded)."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[TopicImage, int]] = {}

    def of_group(self, names: Iterable[str], image: MetadataImage) -> int:
        """As a signed number of 64 bits; 0: none of the topics is there."""
        topics = (image.topics.named(name) for name in sorted(names, key=_java_order))
        hashes = [self._of(topic, image) for topic in topics if topic is not None]
        return _signed(xxh3_64(b"".join(map(_LONG.pack, hashes)))) if hashes else 0

    def _of(self, topic: TopicImage, image: MetadataImage) -> int:
        known = self._found.get(topic.name)
        if known is not None and known[0] is topic:
            return known[1]
        if len(self._found) >= _MOST:
            self._found.clear()
        found = xxh3_64(_described(topic, image))
        self._found[topic.name] = topic, found
        return found


def _described(topic: TopicImage, image: MetadataImage) -> bytes:
    high, low = topic.id[:8], topic.id[8:]
    parts = [_LAYOUT, high[::-1], low[::-1], _text(topic.name), _INT.pack(topic.partition_count)]
    rack_of: dict[int, str] = {
        broker_id: broker.rack for broker_id, broker in image.cluster.brokers.items() if broker.rack
    }
    for index in range(topic.partition_count):
        parts.append(_INT.pack(index))
        if rack_of:
            partition = topic.partition(index)
            replicas = () if partition is None else partition.replicas
            racks = sorted((rack_of[each] for each in replicas if each in rack_of), key=_java_order)
            for rack in racks:
                parts += (_INT.pack(len(_java_order(rack)) // 2), _text(rack))
    return b"".join(parts)


def _text(text: str) -> bytes:
    chars = text.encode("utf-16-le", "surrogatepass")
    return chars + _INT.pack(len(chars) // 2)


def _java_order(text: str) -> bytes:
    """Java compares UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def _signed(number: int) -> int:
    return number - 2 * _SIGN if number & _SIGN else number
