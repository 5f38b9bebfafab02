"""The assignor `range`: of each topic its readers get neighbouring partitions, in the order of their names.

Topics that have the same readers and equally many partitions are co-partitioned: one member has the partitions of one
number in all of them. Static members come first, by instance id, so that they keep their place when they come back
under another member id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from controller_runtime.coordinator.consumer.assignors.spec import Reader, Spec
from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid


def assign(spec: Spec) -> Iterator[dict[str, Target] | None]:
    """In pieces (None); the last is the assignment."""
    left = Counter(topic_id for reader in spec.readers.values() for topic_id in reader.topics)
    places = {topic_id: _Ranges(spec.counts[topic_id], count) for topic_id, count in left.items()}
    found: dict[str, Target] = {}
    for member_id, reader in sorted(spec.readers.items(), key=_order):
        given: dict[Uuid, frozenset[int]] = {}
        for topic_id in reader.topics:
            some = places[topic_id].take()
            if some:
                given[topic_id] = frozenset(some)
        found[member_id] = given
        yield None
    yield found


class _Ranges:
    def __init__(self, count: int, readers: int) -> None:
        self._quota, self._extra = divmod(count, readers)
        self._next = 0

    def take(self) -> range:
        size = self._quota + (self._extra > 0)
        self._extra -= self._extra > 0
        first, self._next = self._next, self._next + size
        return range(first, self._next)


def _order(named: tuple[str, Reader]) -> tuple[bool, bytes]:
    member_id, reader = named
    is_dynamic = reader.instance_id is None
    name = member_id if reader.instance_id is None else reader.instance_id
    return is_dynamic, name.encode("utf-16-be", "surrogatepass")
