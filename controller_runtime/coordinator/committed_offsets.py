"""The offsets that the groups of one partition have committed: the newest for decisions, the
committed ones for readers.

A record counts for decisions when it is appended, and is shown when the high watermark has passed it: until then
readers see what was there before. Offsets of a transaction that is not over are kept apart, by producer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from controller_runtime.coordinator.offsets_records import Committed, OffsetPlace, OffsetRecord
from controller_runtime.values import dataclass

Key = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What readers see until the log is committed up to `end_offset`."""

    end_offset: int
    place: OffsetPlace
    committed: Committed | None


class CommittedOffsets:
    def __init__(self) -> None:
        self._groups: dict[str, dict[Key, Committed]] = {}
        self._written: dict[OffsetPlace, int] = {}
        """Where the newest record of each offset is in the log, of those that came while a transaction was open."""
        self._before: deque[_Before] = deque()
        self._hidden: dict[OffsetPlace, deque[_Before]] = {}
        self._open: dict[int, dict[OffsetPlace, tuple[int, Committed]]] = {}
        """By producer: what a transaction that is not over has committed, and where."""
        self._ending: deque[tuple[int, frozenset[OffsetPlace]]] = deque()
        """What transactions have committed whose marker is not committed yet, and where that ends."""

    @property
    def count(self) -> int:
        return sum(map(len, self._groups.values()))

    def replay(self, record: OffsetRecord, at: int, *, end_offset: int | None = None) -> None:
        """`at`: its offset. `end_offset`: readers see it when the log is committed so far; None: it is committed."""
        place = record.place
        if end_offset is not None:
            before = _Before(end_offset, place, self.newest(place))
            self._before.append(before)
            self._hidden.setdefault(place, deque()).append(before)
        of_group = self._groups.setdefault(place.group_id, {})
        if record.committed is None:
            of_group.pop((place.topic, place.partition), None)
            if not of_group:
                del self._groups[place.group_id]
            self._written.pop(place, None)
            for pending in self._open.values():
                pending.pop(place, None)
        else:
            of_group[place.topic, place.partition] = record.committed
            if self._open:
                self._written[place] = at

    def committed_to(self, high_watermark: int) -> None:
        """Readers see what lies below."""
        while self._ending and self._ending[0][0] <= high_watermark:
            self._ending.popleft()
        while self._before and self._before[0].end_offset <= high_watermark:
            place = self._before.popleft().place
            hidden = self._hidden[place]
            hidden.popleft()
            if not hidden:
                del self._hidden[place]

    # Transactions.

    def replay_pending(self, producer_id: int, record: OffsetRecord, at: int) -> None:
        """Of a transaction that may still be aborted."""
        pending = self._open.setdefault(producer_id, {})
        if record.committed is None:
            pending.pop(record.place, None)
        else:
            pending[record.place] = at, record.committed

    def end_transaction(self, producer_id: int, *, commit: bool, end_offset: int | None = None) -> None:
        """As in Kafka the record that is later in the log wins, whichever of them came in a transaction. `end_offset`:
        of the marker; until it is committed they are as pending as before, and readers see what was there.
        """
        ended = self._open.pop(producer_id, {})
        if ended and end_offset is not None:
            self._ending.append((end_offset, frozenset(ended)))
        for place, (at, committed) in ended.items():
            if commit and self._written.get(place, -1) < at:
                self.replay(OffsetRecord(place, committed), at, end_offset=end_offset)
                self._written[place] = at
        if not self._open:
            self._written.clear()

    def is_pending(self, place: OffsetPlace) -> bool:
        """A transaction that is not over has committed it."""
        is_ending = any(place in ended for _, ended in self._ending)
        return is_ending or any(place in pending for pending in self._open.values())

    def has_pending(self, group_id: str) -> bool:
        pending = (*self._open.values(), *(ended for _, ended in self._ending))
        return any(place.group_id == group_id for places in pending for place in places)

    # Looking up.

    def newest(self, place: OffsetPlace) -> Committed | None:
        return self._groups.get(place.group_id, {}).get((place.topic, place.partition))

    def shown(self, place: OffsetPlace) -> Committed | None:
        """What readers see."""
        hidden = self._hidden.get(place)
        return hidden[0].committed if hidden else self.newest(place)

    def of(self, group_id: str) -> Mapping[Key, Committed]:
        """The newest ones."""
        return self._groups.get(group_id, {})

    def keys_of(self, group_id: str) -> list[Key]:
        """Everything that a reader may see something of."""
        places = dict.fromkeys(self.of(group_id))
        places.update(((each.topic, each.partition), None) for each in self._hidden if each.group_id == group_id)
        return list(places)

    def groups(self) -> list[str]:
        return list(self._groups)
