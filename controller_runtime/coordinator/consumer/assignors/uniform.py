"""The assignor `uniform`: everybody has equally many partitions, and keeps what it has as far as that goes.

If all read the same topics, each member keeps up to its share of what it has, and the rest goes to those that have
less. If not, what nobody has goes to the readers with the fewest partitions; then, topic by topic, partitions move from
the readers that have most to those that have fewest, until no topic's readers differ by more than one, or as long as
that helps. Racks make no difference, as in Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller_runtime.coordinator.consumer.assignors.spec import Spec
from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid

_MOST_ROUNDS: Final = 16
_NOBODY: Final = -1
Assigning = Iterator[dict[str, Target] | None]


def assign(spec: Spec) -> Assigning:
    """In pieces (None); the last is the assignment."""
    if not spec.counts:
        yield {member_id: {} for member_id in spec.readers}
    elif spec.is_homogeneous:
        yield from _equal_shares(spec)
    else:
        yield from _Balance(spec).assign()


def _equal_shares(spec: Spec) -> Assigning:
    total = sum(spec.counts.values())
    share, extra = divmod(total, len(spec.readers))
    taken: dict[Uuid, set[int]] = {topic_id: set() for topic_id in spec.counts}
    for reader in spec.readers.values():
        for topic_id, indexes in reader.before.items():
            if topic_id in taken:
                taken[topic_id] |= indexes
        yield None
    free = [(each, index) for each, count in spec.counts.items() for index in range(count) if index not in taken[each]]
    yield None
    kept: dict[str, dict[Uuid, set[int]]] = {}
    room: dict[str, int] = {}
    for place, (member_id, reader) in enumerate(spec.readers.items()):
        has_extra = extra > 0
        quota = share + has_extra
        mine: dict[Uuid, set[int]] = {}
        for topic_id, indexes in reader.before.items():
            if topic_id not in spec.counts:
                continue
            ordered = sorted(indexes)
            if ordered[:quota]:
                mine[topic_id] = set(ordered[:quota])
            free += [(topic_id, index) for index in ordered[quota:]]
            quota -= min(quota, len(ordered))
        if quota and has_extra and len(spec.readers) - place > extra:
            quota, has_extra = quota - 1, False  # Who has one more already keeps it: others are still to come.
        extra -= has_extra
        kept[member_id] = mine
        if quota:
            room[member_id] = quota
        yield None
    at = 0
    for member_id, quota in room.items():
        for topic_id, index in free[at : at + quota]:
            kept[member_id].setdefault(topic_id, set()).add(index)
        at += quota
        yield None
    assert at >= len(free), f"{len(free) - at} partitions were left"
    yield _frozen(kept)


class _Balance:
    """Readers are numbers, in the order in which they come."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._names = list(spec.readers)
        self._owners = {topic_id: [_NOBODY] * count for topic_id, count in spec.counts.items()}
        self._sizes = [0] * len(self._names)
        self._readers: dict[Uuid, list[int]] = {topic_id: [] for topic_id in spec.counts}
        for number, reader in enumerate(spec.readers.values()):
            for topic_id in reader.topics:
                self._readers[topic_id].append(number)

    def assign(self) -> Assigning:
        yield from self._keep()
        order = sorted(self._spec.counts, key=self._urgency)
        for topic_id in order:
            self._fill(topic_id)
            yield None
        yield from self._even_out([each for each in order if len(self._readers[each]) > 1])
        found: dict[str, dict[Uuid, set[int]]] = {name: {} for name in self._names}
        for topic_id, owners in self._owners.items():
            for index, number in enumerate(owners):
                found[self._names[number]].setdefault(topic_id, set()).add(index)
            yield None
        yield _frozen(found)

    def _urgency(self, topic_id: Uuid) -> tuple[float, int, int, int]:
        """Topics with most partitions for each reader first."""
        count, readers = self._spec.counts[topic_id], len(self._readers[topic_id])
        high, low = (int.from_bytes(half, "big", signed=True) for half in (topic_id[:8], topic_id[8:]))
        return -count / readers, readers, high, low

    def _keep(self) -> Assigning:
        for number, reader in enumerate(self._spec.readers.values()):
            wanted = frozenset(reader.topics)
            for topic_id, indexes in reader.before.items():
                if topic_id in wanted:
                    for index in indexes:
                        self._give(topic_id, index, number)
            yield None

    def _give(self, topic_id: Uuid, index: int, number: int) -> None:
        owners = self._owners[topic_id]
        if index >= len(owners):
            return  # It was of a topic that had more partitions.
        if owners[index] != _NOBODY:
            self._sizes[owners[index]] -= 1
        owners[index] = number
        self._sizes[number] += 1

    def _fill(self, topic_id: Uuid) -> None:
        """What nobody has goes to the readers with the fewest."""
        loads = _Loads(self._sizes, self._readers[topic_id])
        for index, owner in enumerate(self._owners[topic_id]):
            if owner == _NOBODY:
                self._give(topic_id, index, loads.next_least())

    def _even_out(self, order: list[Uuid]) -> Assigning:
        """Until a whole round has moved nothing."""
        last = None
        for _ in range(_MOST_ROUNDS):
            for topic_id in order:
                if topic_id == last:
                    return
                moved = self._even_out_one(topic_id)
                if moved or last is None:
                    last = topic_id
                yield None

    def _even_out_one(self, topic_id: Uuid) -> int:
        loads = _Loads(self._sizes, self._readers[topic_id])
        if loads.imbalance <= 1:
            return 0
        mine: dict[int, list[int]] = {}
        for index, owner in enumerate(self._owners[topic_id]):
            mine.setdefault(owner, []).append(index)
        moved = 0
        while not loads.is_balanced:
            most = loads.next_most()
            while most != _NOBODY and not mine.get(most):
                loads.exclude_most()
                most = loads.next_most()
            if most == _NOBODY:
                break
            index = mine[most].pop()
            least = loads.next_least()
            if loads.is_balanced:
                break
            self._give(topic_id, index, least)
            moved += 1
        return moved


class _Loads:
    """Readers of one topic by how many partitions they have: those with least are named in turn, and each of them has
    one more then; those with most have one less.
    """

    def __init__(self, sizes: list[int], readers: list[int]) -> None:
        self._sizes = sizes
        self._order = sorted(readers, key=lambda number: (sizes[number], number))
        least, most = sizes[self._order[0]], sizes[self._order[-1]]
        self.imbalance = most - least
        self._least_size, self._least_end, self._least_next = least - 1, 0, 0
        self._most_size = most + 1
        self._most_start = self._most_end = len(self._order)
        self._most_next = len(self._order) - 1

    @property
    def is_balanced(self) -> bool:
        return self._most_size - self._least_size <= 1

    def next_least(self) -> int:
        if self._least_next >= self._least_end:
            self._least_size += 1
            order, sizes = self._order, self._sizes
            while self._least_end < len(order) and sizes[order[self._least_end]] == self._least_size:
                self._least_end += 1
            self._least_next = 0
        self._least_next += 1
        return self._order[self._least_next - 1]

    def next_most(self) -> int:
        if self._most_next < self._most_start:
            order, sizes = self._order, self._sizes
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_size = sizes[order[self._most_start - 1]]
            else:
                self._most_size -= 1
            while self._most_start > 0 and sizes[order[self._most_start - 1]] == self._most_size:
                self._most_start -= 1
            self._most_next = self._most_end - 1
        if self._most_next < 0:
            return _NOBODY
        self._most_next -= 1
        return self._order[self._most_next + 1]

    def exclude_most(self) -> None:
        """The one that was named last has nothing of the topic."""
        order, place = self._order, self._most_next + 1
        order[place], order[self._most_end - 1] = order[self._most_end - 1], order[place]
        self._most_end -= 1


def _frozen(found: dict[str, dict[Uuid, set[int]]]) -> dict[str, Target]:
    return {
        name: {topic_id: frozenset(indexes) for topic_id, indexes in given.items()} for name, given in found.items()
    }
