"""Records of aborted transactions among those that were read: nobody gets them."""

from __future__ import annotations

from collections.abc import Sequence

from controller_runtime.coordinator.share_partitions.reads import Acquired, ReadBatch


def of_aborted(batches: Sequence[ReadBatch], aborted: Sequence[tuple[int, int]]) -> list[ReadBatch]:
    """`aborted`: the producer and the first offset of each transaction."""
    left = sorted(aborted, key=lambda each: each[1], reverse=True)
    producers: set[int] = set()
    found: list[ReadBatch] = []
    for batch in batches:
        if batch.producer_id < 0:
            continue
        while left and left[-1][1] <= batch.last:
            producers.add(left.pop()[0])
        if batch.aborts:
            producers.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id in producers:
            found.append(batch)
    return found


def without(acquired: Sequence[Acquired], gone: Sequence[ReadBatch]) -> list[Acquired]:
    """Both in the order of their offsets."""
    found: list[Acquired] = []
    place = 0
    for each in acquired:
        first = each.first
        while place < len(gone) and gone[place].last < first:
            place += 1
        at = place
        while at < len(gone) and gone[at].base <= each.last:
            if first < gone[at].base:
                found.append(each._replace(first=first, last=gone[at].base - 1))
            first = max(first, gone[at].last + 1)
            at += 1
        if first <= each.last:
            found.append(each._replace(first=first))
    return found
