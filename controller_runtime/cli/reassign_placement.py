"""Where `kafka-reassign-partitions --generate` proposes to put replicas: Kafka's own tool's way (`AdminUtils`).

Leaders go round the brokers from a random one; the other replicas follow at a distance that grows with each round.
With racks, brokers take turns by rack, and no rack has two replicas before all have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from controller_runtime.cli.admin_tools import Failed

Dice = Callable[[int], int]
"""A number below the given one."""


def place(brokers: Mapping[int, str | None], partitions: int, factor: int, dice: Dice) -> list[list[int]]:
    """Racks by broker, all or none of them None. Raises Failed."""
    if factor > len(brokers):
        why = f"only {len(brokers)} broker(s) are registered or some brokers have all their log directories cordoned."
        raise Failed(f"The target replication factor of {factor} cannot be reached because {why}")
    racked = {broker: rack for broker, rack in brokers.items() if rack is not None}
    turn = by_turns(racked) if racked else list(brokers)
    racks = len(set(racked.values())) or 1
    start, shift = dice(len(turn)), dice(len(turn))
    placed = []
    for partition in range(partitions):
        if partition > 0 and partition % len(turn) == 0:
            shift += 1
        first = (partition + start) % len(turn)
        placed.append(_replicas(turn, racked, racks=racks, first=first, shift=shift, factor=factor))
    return placed


def by_turns(racked: Mapping[int, str]) -> list[int]:
    """The first broker of each rack, then the second of each."""
    racks: dict[str, list[int]] = {}
    for broker in sorted(racked):
        racks.setdefault(racked[broker], []).append(broker)
    rounds = zip_longest(*(racks[name] for name in sorted(racks)))
    return [broker for one in rounds for broker in one if broker is not None]


def _replicas(
    turn: Sequence[int], racked: Mapping[int, str], *, racks: int, first: int, shift: int, factor: int
) -> list[int]:
    chosen, used, step = [turn[first]], {racked.get(turn[first])}, 0
    while len(chosen) < factor:
        distance = 1 + (shift * (racks if racked else 1) + step) % (len(turn) - 1)
        broker = turn[(first + distance) % len(turn)]
        step += 1
        fresh_rack = not racked or racked[broker] not in used or len(used) == racks
        if fresh_rack and broker not in chosen:
            chosen.append(broker)
            used.add(racked.get(broker))
    return chosen
