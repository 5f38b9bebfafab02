"""Where the replicas of a new topic go: striped over racks, then over the brokers of each rack (Kafka's
StripedReplicaPlacer).

Every partition begins at the next rack, every rack hands out its brokers in turn from a random start, so leaders and
replicas spread evenly. Unfenced brokers go before fenced ones, and a fenced broker never leads. After as many
partitions as there are unfenced brokers the racks are shuffled anew, so that the followers of one leader do not always
meet on the same brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controller_runtime.controller.errors import Refused
from controller_runtime.identifiers import DirectoryId
from controller_runtime.metadata.cluster import MIGRATING, UNASSIGNED, BrokerRegistration
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass

Below = Callable[[int], int]
"""A random number in [0, n)."""


@dataclass(frozen=True, slots=True)
class UsableBroker:
    id: int
    rack: str | None
    fenced: bool


def usable_brokers(brokers: Iterable[BrokerRegistration]) -> list[UsableBroker]:
    """Those that may take new replicas: not shutting down, and with a log directory that is not cordoned."""
    return [
        UsableBroker(broker.id, broker.rack, broker.fenced)
        for broker in brokers
        if not broker.in_controlled_shutdown and not _all_cordoned(broker)
    ]


def _all_cordoned(broker: BrokerRegistration) -> bool:
    return bool(broker.directories) and set(broker.directories) <= set(broker.cordoned_directories or ())


def default_directory(broker: BrokerRegistration) -> DirectoryId:
    """Where a new replica goes: the only directory, else the broker will choose and tell."""
    if not broker.directories:
        return MIGRATING
    open_ = [directory for directory in broker.directories if directory not in (broker.cordoned_directories or ())]
    return open_[0] if len(open_) == 1 else UNASSIGNED


@dataclass(slots=True)
class _Ring:
    """Brokers handed out in turn."""

    brokers: list[int]
    _epoch: int | None = None
    _index: int = 0
    _offset: int = 0

    def start(self, below: Below) -> None:
        """Shuffle, and begin at a random broker."""
        self._epoch = None
        if self.brokers:
            shuffle(self.brokers, below)
            self._offset = below(len(self.brokers))

    def next(self, epoch: int) -> int | None:
        """The next broker; each once per epoch, which advances the start by one."""
        if not self.brokers:
            return None
        if epoch != self._epoch:
            self._epoch, self._index = epoch, 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._index >= len(self.brokers):
            return None
        found = self.brokers[(self._index + self._offset) % len(self.brokers)]
        self._index += 1
        return found


@dataclass(slots=True)
class _Rack:
    unfenced: _Ring
    fenced: _Ring

    def next(self, epoch: int) -> int | None:
        found = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if found is None else found


class _Racks:
    """All racks in the order of their names (none first)."""

    def __init__(self, brokers: list[UsableBroker], below: Below) -> None:
        names = sorted({broker.rack for broker in brokers}, key=lambda rack: (rack is not None, rack or ""))
        self._below = below
        self.racks = [
            _Rack(
                _Ring(sorted(b.id for b in brokers if b.rack == name and not b.fenced)),
                _Ring(sorted(b.id for b in brokers if b.rack == name and b.fenced)),
            )
            for name in names
        ]
        self._unfenced = sum(not broker.fenced for broker in brokers)
        self._shuffle()

    def _shuffle(self) -> None:
        self._epoch = 0
        for rack in self.racks:
            rack.unfenced.start(self._below)
            rack.fenced.start(self._below)
        self._first = self._below(len(self.racks))

    def place(self, factor: int) -> list[int]:
        """The replicas of one partition, the leader first. The caller has checked that there are enough brokers."""
        if self._epoch == self._unfenced and self._unfenced > 1:
            self._shuffle()
        leading, leader = self._leader()
        placed = [leader]
        turn = 0
        skip: int | None = leading
        while len(placed) < factor:
            index = (self._first + turn) % len(self.racks)
            turn += 1
            if index == skip:  # this rack has had its turn with the leader
                skip = None
                continue
            found = self.racks[index].next(self._epoch)
            if found is not None:
                placed.append(found)
        self._epoch += 1
        self._first = (self._first + 1) % len(self.racks)
        return placed

    def _leader(self) -> tuple[int, int]:
        """(rack, broker) of the first unfenced broker from the start rack on."""
        for turn in range(len(self.racks)):
            index = (self._first + turn) % len(self.racks)
            found = self.racks[index].unfenced.next(self._epoch)
            if found is not None:
                return index, found
        raise AssertionError("no unfenced broker to lead a partition")


def place(brokers: list[UsableBroker], partitions: int, factor: int, below: Below) -> list[list[int]]:
    """Replicas of each partition. Raises Refused with INVALID_REPLICATION_FACTOR."""
    unable = f"Unable to replicate the partition {factor} time(s): "
    if not any(not broker.fenced for broker in brokers):
        why = "All brokers are currently fenced, or have all their log directories cordoned."
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, unable + why)
    if factor > len(brokers):
        why = (
            f"The target replication factor of {factor} cannot be reached because only {len(brokers)} broker(s) are "
            "registered or some brokers have all their log directories cordoned."
        )
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, unable + why)
    racks = _Racks(brokers, below)
    return [racks.place(factor) for _ in range(partitions)]


def shuffle(items: list[int], below: Below) -> None:
    """Fisher and Yates, with the given dice."""
    for index in range(len(items) - 1, 0, -1):
        other = below(index + 1)
        items[index], items[other] = items[other], items[index]
