"""What is wrong with what was found after a history: nothing, if no record was lost, doubled or half carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_FEW: Final = 5


@dataclass(frozen=True, slots=True)
class Found:
    """Everything there is at the end, by partition, in the order of the offsets."""

    queue: Sequence[Sequence[int]]
    """Orders, by their numbers."""
    accounts: Sequence[Sequence[tuple[int, int]]]
    """What readers of committed records see: the number of an order and what it adds to the account."""


def complaints(acknowledged: Collection[int], found: Found) -> list[str]:
    """`acknowledged`: orders of an idempotent producer, each sent to its partition in the order of the numbers."""
    out: list[str] = []
    queued = Counter(number for partition in found.queue for number in partition)
    out += _said("acknowledged and lost", [each for each in acknowledged if not queued[each]])
    out += _said("written twice", [number for number, count in queued.items() if count > 1])
    for index, partition in enumerate(found.queue):
        out += _said(f"out of order in partition {index}", [then for now, then in pairwise(partition) if then < now])
    entries = Counter(entry for partition in found.accounts for entry in partition)
    booked = {number for number, _ in entries}
    out += _said("never carried out", [number for number in sorted(queued) if number not in booked])
    out += _said("carried out without an order", [number for number in sorted(booked) if not queued[number]])
    for number in sorted(booked):
        mine = {amount: count for (each, amount), count in entries.items() if each == number}
        if mine != {amount_of(number): 1, -amount_of(number): 1}:
            out += [f"order {number} is in the accounts as {mine}"]
    return out[:_FEW] + ([f"and {len(out) - _FEW} more"] if len(out) > _FEW else [])


def amount_of(order: int) -> int:
    return order % 97 + 1


def _said(what: str, numbers: Sequence[int]) -> list[str]:
    if not numbers:
        return []
    more = f" and {len(numbers) - _FEW} more" if len(numbers) > _FEW else ""
    return [f"{what}: {', '.join(map(str, numbers[:_FEW]))}{more}"]
