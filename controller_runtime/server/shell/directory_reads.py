"""What consumers read, directory by directory: a slow disk holds back those who ask for what lies on it, and no others.

A read goes from one log directory to the next, in the order in which its slices name them. Few are with one directory
at once, because what is read is in memory until a consumer has taken it; the others wait there, in order. A read that
has found records waits for no further disk: if the next directory has no place for it at once, it is answered with
what it has, and the consumer asks for the rest again. So nothing is held while it waits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from controller_runtime.broker.effects import Data, ReadRecords, ReadSlice, RecordsRead, WorkId
from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass, field

READS_AT_ONCE: Final = 2
"""Reads that are with the thread of one directory, which does one after the other. Each may have 55 MiB
(`fetch.max.bytes`).
"""


@dataclass(slots=True)
class Reading:
    """A read on its way: which of its slices lie in which directory, and what was found so far."""

    effect: ReadRecords
    to_do: OrderedDict[DirectoryId, list[int]]
    data: list[Data]
    found_bytes: int = 0

    @property
    def left(self) -> int:
        return self.effect.max_bytes - self.found_bytes

    def slices(self, directory: DirectoryId) -> list[ReadSlice]:
        return [self.effect.slices[place] for place in self.to_do[directory]]

    def found(self, directory: DirectoryId, data: list[Data]) -> None:
        for place, one in zip(self.to_do.pop(directory), data, strict=True):
            self.data[place] = one
            self.found_bytes += 0 if isinstance(one, ErrorCode) else len(one)


@dataclass(slots=True)
class _Queue:
    """Of one directory."""

    waiting: OrderedDict[WorkId, Reading] = field(default_factory=OrderedDict)
    at_work: int = 0

    @property
    def has_place(self) -> bool:
        return self.at_work < READS_AT_ONCE


class DirectoryReads:
    def __init__(
        self,
        directories: Iterable[DirectoryId],
        home: Callable[[PartitionId], DirectoryId],
        begin: Callable[[DirectoryId, Reading], None],
        answer: Callable[[RecordsRead], None],
    ) -> None:
        """`begin` hands a read to a directory's thread; `done` comes back in the loop."""
        self._queues = {directory: _Queue() for directory in directories}
        self._home = home
        self._begin = begin
        self._answer = answer
        self.has_room: Callable[[], bool] = lambda: True
        """Whether what consumers have not taken yet may still grow; call `go_on` when it may again."""

    def add(self, effect: ReadRecords) -> None:
        to_do: OrderedDict[DirectoryId, list[int]] = OrderedDict()
        for place, one in enumerate(effect.slices):
            to_do.setdefault(self._home(one.key), []).append(place)
        if not to_do:
            to_do[next(iter(self._queues))] = []
        self._queues[next(iter(to_do))].waiting[effect.work_id] = Reading(effect, to_do, [b""] * len(effect.slices))
        self.go_on()

    def cancel(self, work_id: WorkId) -> None:
        """If it waits, it is not done."""
        for queue in self._queues.values():
            queue.waiting.pop(work_id, None)

    def go_on(self) -> None:
        for directory, queue in self._queues.items():
            while queue.waiting and queue.has_place and self.has_room():
                _, reading = queue.waiting.popitem(last=False)
                self._start(directory, reading)

    def done(self, directory: DirectoryId, reading: Reading, data: list[Data]) -> None:
        self._queues[directory].at_work -= 1
        reading.found(directory, data)
        following = next(iter(reading.to_do), None)
        if following is None or (reading.found_bytes and (reading.left <= 0 or not self._queues[following].has_place)):
            self._answer(RecordsRead(reading.effect.work_id, tuple(reading.data)))
        elif reading.found_bytes:
            self._start(following, reading)
        else:
            self._queues[following].waiting[reading.effect.work_id] = reading
        self.go_on()

    def _start(self, directory: DirectoryId, reading: Reading) -> None:
        self._queues[directory].at_work += 1
        self._begin(directory, reading)
