"""Fleets of three disks of one log, clean in all the ways that logs of healthy clusters differ, or with one fault at a
random place.

Every maker gives what an audit has to say: the node and, where it is one place, file and position of the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.record_batch import Record, batch_headers, encode_batch
from support.disks.log_fleet import Disk, History, LogBatch, disks, topic


@dataclass(frozen=True, slots=True)
class Fault:
    """What was broken: the audit must name node and file with one of these kinds, and the position when it is given."""

    cluster: str
    kinds: frozenset[str]
    node: int
    files: frozenset[str]
    position: int | None = None
    told: str = ""
    later: tuple[tuple[Path, bytes], ...] = ()
    """Files that have grown to this when the fleet is ingested a second time."""


def some_log(cluster: str, rng: Random) -> tuple[History, dict[int, MetadataImage]]:
    """Two or three epochs of topics, voters and idle batches, with the image at each batch's end."""
    log = History(cluster)
    builder = MetadataImage.empty().builder()
    images: dict[int, MetadataImage] = {}
    number = 0
    for _ in range(rng.randint(2, 3)):
        log.lead(rng.randint(1, 3))
        images[log.end] = builder.freeze()
        for _ in range(rng.randint(8, 16)):
            if rng.random() < 0.1:
                log.vote()
            elif rng.random() < 0.5:
                number += 1
                record = topic(number)
                replay(builder, record[0])
                log.append(record)
            else:
                log.idle(1)
            images[log.end] = builder.freeze()
    return log, images


def cut_of(log: History, rng: Random) -> int:
    """A batch boundary somewhere in the middle, to begin a segment at."""
    return log.batches[rng.randint(len(log.batches) // 3, 2 * len(log.batches) // 3)].base


def clean_fleet(root: Path, cluster: str, rng: Random) -> None:
    """Healthy disks: one lags, one has an uncommitted suffix or a torn tail, one begins with a snapshot."""
    log, images = some_log(cluster, rng)
    fleet = disks(root, cluster)
    cut = cut_of(log, rng)
    for disk in fleet.values():
        disk.write(log, segments=(cut,) if rng.random() < 0.7 else ())
        if rng.random() < 0.5:
            disk.snapshot(log, images[cut], cut)
    lagging = fleet[2]
    match rng.randrange(5):
        case 0:
            lagging.write(log, end=rng.randint(2, log.end))
        case 1:
            common = rng.randint(cut, log.end - 1)  # whoever leads later holds what a snapshot proves to be committed
            fork = log.fork(common)
            fork.lead(2, epoch=log.epoch + 1)
            fork.append(topic(500))
            lagging.write(fork)
        case 2:
            lagging.write(log, end=log.end)
            path = max(lagging.log_dir.glob("*.log"))
            data = path.read_bytes()
            path.write_bytes(data[: len(data) - rng.randint(1, len(log.batches[-1].data) - 1)])
        case 3:
            lagging.write(log, start=cut)
            lagging.snapshot(log, images[cut], cut)
        case _:
            pass


def position_of(log: History, number: int, segment_base: int) -> int:
    return sum(len(it.data) for it in log.batches[:number] if it.base >= segment_base)


def _three(root: Path, cluster: str, rng: Random) -> tuple[History, dict[int, Disk], int]:
    log, images = some_log(cluster, rng)
    cut = cut_of(log, rng)
    fleet = disks(root, cluster)
    for disk in fleet.values():
        disk.write(log, segments=(cut,))
        disk.snapshot(log, images[cut], cut)
    return log, fleet, cut


def _flip(low: int, high: int, kinds: set[str]) -> Callable[[Path, str, Random], Fault]:
    """One bit of one byte of a batch, at `low` to `high` of it."""

    def inject(root: Path, cluster: str, rng: Random) -> Fault:
        log, fleet, cut = _three(root, cluster, rng)
        node = rng.randint(1, 3)
        number = rng.randrange(2, len(log.batches) - 2)
        batch = log.batches[number]
        base = cut if batch.base >= cut else 0
        path = fleet[node].segment(base)
        position = position_of(log, number, base)
        data = bytearray(path.read_bytes())
        at = position + rng.randint(low, min(high, len(batch.data) - 1))
        data[at] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(data))
        return Fault(
            cluster,
            frozenset(kinds),
            node,
            frozenset({path.name}),
            position,
            f"byte {at - position} of the batch at {batch.base}",
        )

    return inject


def _epoch_at_control(root: Path, cluster: str, rng: Random) -> Fault:
    """The epoch of a batch at, before or behind a leader's record or voters: any number, those of the
    neighbours too.
    """
    log, fleet, cut = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    control = [n for n, it in enumerate(log.batches) if it.data[22] & 0x20]
    number = rng.choice([n for at in control for n in (at - 1, at, at + 1) if 1 < n < len(log.batches) - 2])
    batch = log.batches[number]
    wrong = rng.choice([it for it in (-1, 0, 1, 2, 3, 4, 5, rng.randrange(1 << 31)) if it != batch.epoch])
    base = cut if batch.base >= cut else 0
    path = fleet[node].segment(base)
    position = position_of(log, number, base)
    data = bytearray(path.read_bytes())
    data[position + 12 : position + 16] = wrong.to_bytes(4, "big", signed=True)
    path.write_bytes(bytes(data))
    told = f"the batch at {batch.base} says {wrong} for {batch.epoch}"
    return Fault(cluster, frozenset({"damaged epoch"}), node, frozenset({path.name}), position, told)


def _epoch_in_two_looks(root: Path, cluster: str, rng: Random) -> Fault:
    """The same in a log that grows between two ingests, the first of which ended within a few batches of the damage."""
    fault = _epoch_at_control(root, cluster, rng)
    (name,), (home,) = fault.files, root.glob(f"{cluster}/node-{fault.node}/__cluster_metadata-0")
    path = home / name
    data = path.read_bytes()
    ends = [it.end_position for it in batch_headers(data)]
    near = next(n for n, end in enumerate(ends) if end > (fault.position or 0))
    cut = rng.choice([*ends, 0][max(0, near - 3) : near + 3])
    path.write_bytes(data[:cut])
    later = [(path, data)]
    for behind in home.glob("*.log"):
        if behind.name > name:
            later.append((behind, behind.read_bytes()))
            behind.unlink()
    return replace(fault, later=tuple(later))


def _other_content(root: Path, cluster: str, rng: Random) -> Fault:
    """A whole batch with another content and a right checksum: no tool that looks at one disk can see it."""
    log, fleet, cut = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    number = rng.choice(
        [
            n
            for n, it in enumerate(log.batches)
            if n > 2 and it.end - it.base == 1 and it.epoch == log.batches[n - 1].epoch
        ]
    )
    batch = log.batches[number]
    record, version = topic(900 + number)
    data = encode_batch(
        [Record(batch.base, log.now, None, encode_record(record, version))], partition_leader_epoch=batch.epoch
    )
    changed = History(cluster, log.voters, [*log.batches])
    changed.batches[number] = LogBatch(batch.base, batch.end, batch.epoch, data)
    fleet[node].write(changed, segments=(cut,))
    base = cut if batch.base >= cut else 0
    position = position_of(changed, number, base)
    return Fault(
        cluster, frozenset({"divergence"}), node, frozenset({f"{base:020d}.log"}), position, f"batch at {batch.base}"
    )


def _missing_batch(root: Path, cluster: str, rng: Random) -> Fault:
    log, fleet, cut = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    number = rng.choice(
        [n for n, it in enumerate(log.batches) if 2 < n < len(log.batches) - 2 and it.base != cut and it.end != cut]
    )
    batch = log.batches[number]
    without = History(cluster, log.voters, [it for it in log.batches if it is not batch])
    fleet[node].write(without, segments=(cut,))
    base = cut if batch.base >= cut else 0
    position = position_of(log, number, base)
    return Fault(cluster, frozenset({"gap"}), node, frozenset({f"{base:020d}.log"}), position, f"batch at {batch.base}")


def _missing_segment(root: Path, cluster: str, rng: Random) -> Fault:
    """The middle one of three segments is gone."""
    log, fleet, cut = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    second = next(it.base for it in log.batches if it.base > cut + 2)
    fleet[node].write(log, segments=(cut, second))
    fleet[node].segment(cut).unlink()
    return Fault(cluster, frozenset({"gap"}), node, frozenset({f"{second:020d}.log"}), 0, f"segment {cut}")


def _swapped(root: Path, cluster: str, rng: Random) -> Fault:
    """Two segments of one disk have each other's names."""
    _, fleet, cut = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    one, other = fleet[node].segment(0), fleet[node].segment(cut)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    return Fault(
        cluster,
        frozenset({"wrong file", "damaged offset", "gap"}),
        node,
        frozenset({one.name, other.name}),
        0,
        "swapped",
    )


def _truncated(root: Path, cluster: str, rng: Random) -> Fault:
    """The tail is cut off anywhere: inside of a batch it is torn, at a boundary the disk is behind."""
    log, fleet, cut = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    path = fleet[node].segment(cut)
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(log.batches[-1].data), len(data))])
    return Fault(cluster, frozenset({"torn tail", "behind"}), node, frozenset({path.name}), None, "truncated")


def _snapshot_lies(root: Path, cluster: str, rng: Random) -> Fault:
    """A snapshot with a topic that the log does not have."""
    log, fleet, cut = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    builder = MetadataImage.empty().builder()
    replay(builder, topic(777)[0])
    path = fleet[node].snapshot(log, builder.freeze(), cut)
    return Fault(cluster, frozenset({"snapshot differs"}), node, frozenset({path.name}), None, "snapshot")


def _snapshot_rots(root: Path, cluster: str, rng: Random) -> Fault:
    """One bit of one batch of a snapshot."""
    _, fleet, _ = _three(root, cluster, rng)
    node = rng.randint(1, 3)
    (path,) = fleet[node].log_dir.glob("*.checkpoint")
    data = bytearray(path.read_bytes())
    hit = rng.choice([*batch_headers(bytes(data))])
    data[rng.randrange(hit.position + 21, hit.end_position)] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))
    return Fault(cluster, frozenset({"damaged snapshot"}), node, frozenset({path.name}), hit.position, "snapshot")


FAULTS: dict[str, Callable[[Path, str, Random], Fault]] = {
    "content": _flip(21, 10_000, {"bit rot"}),
    "checksum": _flip(17, 20, {"bit rot"}),
    "magic": _flip(16, 16, {"bit rot"}),
    "length": _flip(8, 11, {"bit rot", "unreadable", "torn tail"}),
    "base-offset": _flip(0, 7, {"damaged offset"}),
    "epoch": _flip(12, 15, {"damaged epoch"}),
    "epoch-at-control": _epoch_at_control,
    "epoch-in-two-looks": _epoch_in_two_looks,
    "other-content": _other_content,
    "missing-batch": _missing_batch,
    "missing-segment": _missing_segment,
    "swapped": _swapped,
    "truncated": _truncated,
    "snapshot": _snapshot_lies,
    "snapshot-content": _snapshot_rots,
}
