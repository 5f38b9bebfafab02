"""Kafka's `simple` assignor of share groups: who takes records of which partitions.

Each partition is shared by as many members as it takes to give every member work, and each member has its even part.
What a member has by the target before it keeps, as far as that is even. Members that read different topics share
each topic by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from controller_runtime.coordinator.consumer.assignors.spec import Reader
from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid

Place = tuple[Uuid, int]


def assign(readers: Mapping[str, Reader], assignable: Mapping[Uuid, Iterable[int]]) -> dict[str, Target]:
    """`assignable`: partitions that may be assigned, by topic. Members that get nothing are named, too."""
    had = {
        member_id: {(topic_id, index) for topic_id, indexes in reader.before.items() for index in indexes}
        for member_id, reader in readers.items()
    }
    has: dict[str, set[Place]] = {member_id: set() for member_id in readers}
    if len({reader.topics for reader in readers.values()}) == 1:
        topics = next(iter(readers.values())).topics
        _spread(list(readers), _places(topics, assignable), had, has)
    else:
        for topic_id in dict.fromkeys(each for reader in readers.values() for each in reader.topics):
            subscribed = [member_id for member_id, reader in readers.items() if topic_id in reader.topics]
            _spread(subscribed, _places((topic_id,), assignable), had, has)
    return {member_id: _target(places) for member_id, places in has.items()}


def _places(topics: Iterable[Uuid], assignable: Mapping[Uuid, Iterable[int]]) -> list[Place]:
    return [(topic_id, index) for topic_id in topics for index in sorted(assignable.get(topic_id, ()))]


def _target(places: Iterable[Place]) -> Target:
    found: dict[Uuid, set[int]] = {}
    for topic_id, index in sorted(places):
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}


def _spread(
    members: Sequence[str], places: Sequence[Place], had: Mapping[str, set[Place]], has: Mapping[str, set[Place]]
) -> None:
    """These partitions over these members; what each of them has is added to `has`."""
    if not members or not places:
        return
    sharing = -(-len(members) // len(places))
    edges = [-(-sharing * len(places) * place // len(members)) for place in range(len(members) + 1)]
    wanted = {member: edges[place + 1] - edges[place] for place, member in enumerate(members)}
    kept: dict[str, set[Place]] = {}
    by_place: dict[Place, list[str]] = {place: [] for place in places}
    for member in members:
        mine = [place for place in places if place in had[member] and len(by_place[place]) < sharing]
        kept[member] = set(mine[: wanted[member]])
        for place in kept[member]:
            by_place[place].append(member)
    unfilled = [member for member in members if len(kept[member]) < wanted[member]]
    _fill(unfilled, by_place, kept, wanted, sharing)
    for member in members:
        has[member].update(kept[member])


def _fill(
    unfilled: list[str],
    by_place: Mapping[Place, list[str]],
    kept: Mapping[str, set[Place]],
    wanted: Mapping[str, int],
    sharing: int,
) -> None:
    """Round robin. A partition that everybody who wants more has already stays less shared, as in Kafka."""
    at = 0
    for place, holders in by_place.items():
        tried = count()
        while unfilled and len(holders) < sharing and next(tried) < len(unfilled):
            at %= len(unfilled)
            member = unfilled[at]
            if place in kept[member]:
                at += 1
                continue
            holders.append(member)
            kept[member].add(place)
            tried = count()
            if len(kept[member]) >= wanted[member]:
                del unfilled[at]
            else:
                at += 1
