"""Where the replicas of a new topic go: striped over racks, then over the brokers of each rack (Kafka's
StripedReplicaPlacer).

Every partition begins at the next rack, every rack hands out its brokers in turn from a random start, so leaders and
replicas spread evenly. Unfenced brokers go before fenced ones, and a fenced broker never leads. After as many
partitions as there are unfenced brokers the racks are shuffled anew, so that the followers of one leader do not always
meet on the same brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from controller_runtime.answers.refused import Refused
from controller_runtime.identifiers import DirectoryId, NodeId
from controller_runtime.metadata.cluster import MIGRATING, UNASSIGNED, BrokerRegistration
from controller_runtime.metadata.image import MetadataImage
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
    """Where a new replica goes: the only directory, cordoned or not, else the broker will choose and tell."""
    if not broker.directories:
        return MIGRATING
    return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED


def check_replicas(image: MetadataImage, replicas: Sequence[int], factor: int | None = None) -> None:
    """Of one partition, as somebody wants them. Raises Refused with INVALID_REPLICA_ASSIGNMENT, in Kafka's order and
    words; `factor`: of the partitions before it.
    """
    fault = None
    if not replicas:
        fault = "an empty replica list."
    before = None
    for broker in sorted(replicas):
        if NodeId(broker) not in image.cluster.brokers:
            fault = f"broker {broker}, but no such broker is registered."
        elif broker == before:
            fault = f"the broker {broker} more than once."
        if fault is not None:
            break
        before = broker
    if fault is None and factor is not None and len(replicas) != factor:
        fault = (
            f"a partition with {len(replicas)} replica(s), but this is not consistent with previous partitions, which "
            f"have {factor} replica(s)."
        )
    if fault is not None:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {fault}")


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
    """All racks in the order of their names (none first), for one topic after the other."""

    def __init__(self, brokers: Collection[UsableBroker], below: Below) -> None:
        names = sorted({broker.rack for broker in brokers}, key=lambda rack: (rack is not None, rack or ""))
        self.count = len(brokers)
        self.unfenced = sum(not broker.fenced for broker in brokers)
        self.racks = [_Rack(_Ring([]), _Ring([])) for _ in names]
        self._below = below
        self._sorted = [
            (
                sorted(b.id for b in brokers if b.rack == name and not b.fenced),
                sorted(b.id for b in brokers if b.rack == name and b.fenced),
            )
            for name in names
        ]

    def begin(self) -> None:
        """With another topic."""
        for rack, (unfenced, fenced) in zip(self.racks, self._sorted, strict=True):
            rack.unfenced.brokers, rack.fenced.brokers = unfenced.copy(), fenced.copy()
        self._shuffle()

    def _shuffle(self) -> None:
        self._epoch = 0
        for rack in self.racks:
            rack.unfenced.start(self._below)
            rack.fenced.start(self._below)
        self._first = self._below(len(self.racks))

    def place(self, factor: int) -> list[int]:
        """The replicas of one partition, the leader first. The caller has checked that there are enough brokers."""
        if self._epoch == self.unfenced and self.unfenced > 1:
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


class Placer:
    """`place_replicas`, for one topic after the other: what the registrations say is kept until they change."""

    def __init__(self, below: Below) -> None:
        self._below = below
        self._of: Mapping[NodeId, BrokerRegistration] | None = None
        self._usable = _Racks((), below)

    def place(self, registered: Mapping[NodeId, BrokerRegistration], partitions: int, factor: int) -> list[list[int]]:
        """Replicas of each partition. `registered` never changes. Raises Refused with INVALID_REPLICATION_FACTOR."""
        if registered is not self._of:
            self._usable = _Racks(usable_brokers(registered.values()), self._below)
            self._of = registered
        return _placed(self._usable, partitions, factor)


def place_replicas(
    registered: Mapping[NodeId, BrokerRegistration], partitions: int, factor: int, below: Below
) -> list[list[int]]:
    """Replicas of each partition. Raises Refused with INVALID_REPLICATION_FACTOR."""
    return Placer(below).place(registered, partitions, factor)


def place(brokers: Collection[UsableBroker], partitions: int, factor: int, below: Below) -> list[list[int]]:
    """`place_replicas`, of usable brokers."""
    return _placed(_Racks(brokers, below), partitions, factor)


def _placed(brokers: _Racks, partitions: int, factor: int) -> list[list[int]]:
    unable = f"Unable to replicate the partition {factor} time(s): "
    if not brokers.unfenced:
        why = "All brokers are currently fenced, or have all their log directories cordoned."
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, unable + why)
    if factor > brokers.count:
        why = (
            f"The target replication factor of {factor} cannot be reached because only {brokers.count} broker(s) are "
            "registered or some brokers have all their log directories cordoned."
        )
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, unable + why)
    brokers.begin()
    return [brokers.place(factor) for _ in range(partitions)]


def shuffle(items: list[int], below: Below) -> None:
    """Fisher and Yates, with the given dice."""
    for index in range(len(items) - 1, 0, -1):
        other = below(index + 1)
        items[index], items[other] = items[other], items[index]
