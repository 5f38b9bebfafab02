"""In which order Java goes through what it keeps in a hash map, and takes from a heap what weighs the same.

Nobody promises these orders, but the assignments and words of Apache Kafka's coordinator follow from them; with the
same ones a group that changes hands keeps its tasks where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from controller_runtime.coordinator.java_texts import java_hash

Item = TypeVar("Item")


def hash_order(keys: Iterable[str], room: int = 16) -> list[str]:
    """As a `HashMap` of strings gives its keys. `room`: what it was made for."""
    found = list(dict.fromkeys(keys))
    capacity = 1
    while capacity < room:
        capacity *= 2
    while len(found) * 4 > capacity * 3:
        capacity *= 2

    def bucket(key: str) -> int:
        number = java_hash(key) & 0xFFFF_FFFF
        return (number ^ number >> 16) & capacity - 1

    return sorted(found, key=bucket)


class Heap(Generic[Item]):
    """`PriorityQueue`: of items that weigh the same it does not take the one that came first."""

    def __init__(self, items: Iterable[Item], weight: Callable[[Item], float]) -> None:
        self._items: list[Item] = []
        self._weight = weight
        for each in items:
            self.add(each)

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, item: Item) -> None:
        items, at = self._items, len(self._items)
        items.append(item)
        while at:
            above = (at - 1) // 2
            if self._weight(item) >= self._weight(items[above]):
                break
            items[at] = items[above]
            at = above
        items[at] = item

    def take(self) -> Item:
        """The lightest one."""
        items = self._items
        first, last = items[0], items.pop()
        if not items:
            return first
        at = 0
        while (below := 2 * at + 1) < len(items):
            if below + 1 < len(items) and self._weight(items[below]) > self._weight(items[below + 1]):
                below += 1
            if self._weight(last) <= self._weight(items[below]):
                break
            items[at] = items[below]
            at = below
        items[at] = last
        return first
