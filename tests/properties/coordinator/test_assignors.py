"""The assignors of groups of the consumer protocol, over random groups: balance, stickiness, co-partitioning."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from controller_runtime.coordinator.consumer.assignors import ranges, uniform
from controller_runtime.coordinator.consumer.assignors.spec import Reader, Spec
from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid

pytestmark = pytest.mark.properties

Groups = dict[str, tuple[Uuid, ...]]


def uuid(number: int) -> Uuid:
    return Uuid.of(1, number)


def run(assign: object, readers: Groups, counts: dict[Uuid, int], before: dict[str, Target]) -> dict[str, Target]:
    topics = {topic for each in readers.values() for topic in each}
    spec = Spec(
        {name: Reader(None, each, before.get(name, {})) for name, each in readers.items()},
        {topic: counts[topic] for topic in sorted(topics)},
        len(set(readers.values())) <= 1,
    )
    found: dict[str, Target] = {}
    for each in assign(spec):  # type: ignore[operator]
        found = each or found
    return found


def pairs(target: Target) -> set[tuple[Uuid, int]]:
    return {(topic, index) for topic, indexes in target.items() for index in indexes}


def check_whole(found: dict[str, Target], readers: Groups, counts: dict[Uuid, int]) -> None:
    """Everything that is read is assigned, once, to who reads it."""
    given = Counter(pair for target in found.values() for pair in pairs(target))
    wanted = {topic for each in readers.values() for topic in each}
    assert given == Counter((topic, index) for topic in wanted for index in range(counts[topic]))
    for name, target in found.items():
        assert target.keys() <= set(readers[name])


def random_counts(dice: Random) -> dict[Uuid, int]:
    return {uuid(number): dice.randrange(1, 12) for number in range(dice.randrange(1, 6))}


@pytest.mark.parametrize("seed", range(40))
def test_equal_subscriptions_are_shared_equally_and_kept(seed: int) -> None:
    """CGP-13: sizes differ by one at most, and nobody loses more than it must."""
    dice = Random(seed)
    counts = random_counts(dice)
    names = [f"m{number}" for number in range(dice.randrange(1, 9))]
    before: dict[str, Target] = {}
    for _ in range(6):
        readers = dict.fromkeys(names, tuple(sorted(counts)))
        found = run(uniform.assign, readers, counts, before)
        check_whole(found, readers, counts)
        sizes = [len(pairs(target)) for target in found.values()]
        assert max(sizes) - min(sizes) <= 1
        most = max(sizes)
        for name in names:
            had = {pair for pair in pairs(before.get(name, {})) if pair[0] in counts}
            kept = had & pairs(found[name])
            assert len(kept) >= min(len(had), most - 1), "what fits into its share stays"
        assert run(uniform.assign, readers, counts, found) == found, "nothing changes when nothing has changed"
        before = found
        change = dice.randrange(3)
        if change == 0 or len(names) == 1:
            names.append(f"m{100 + len(names)}{dice.randrange(10**6)}")
        elif change == 1:
            gone = names.pop(dice.randrange(len(names)))
            before.pop(gone, None)
        else:
            topic = dice.choice(sorted(counts))
            counts[topic] += dice.randrange(1, 4)


@pytest.mark.parametrize("seed", range(40))
def test_unequal_subscriptions_are_balanced_topic_by_topic(seed: int) -> None:
    """CGP-13: a partition moves only to who has at least two less; and all is still when nothing changes."""
    dice = Random(1_000 + seed)
    counts = random_counts(dice)
    readers: Groups = {}
    for number in range(dice.randrange(2, 9)):
        some = dice.sample(sorted(counts), dice.randrange(1, len(counts) + 1))
        readers[f"m{number}"] = tuple(sorted(some))
    before: dict[str, Target] = {}
    for _ in range(4):
        found = run(uniform.assign, readers, counts, before)
        check_whole(found, readers, counts)
        size = {name: len(pairs(target)) for name, target in found.items()}
        for name, target in found.items():
            for topic in target:
                others = [other for other, read in readers.items() if topic in read]
                assert size[name] - min(size[other] for other in others) <= 1, (seed, name, topic)
        again = run(uniform.assign, readers, counts, found)
        assert again == found
        before = found
        if len(readers) > 2 and dice.random() < 0.5:
            gone = dice.choice(sorted(readers))
            del readers[gone]
            before.pop(gone)
        else:
            readers[f"n{dice.randrange(10**6)}"] = tuple(sorted(dice.sample(sorted(counts), 1)))


@pytest.mark.parametrize("seed", range(40))
def test_ranges_are_neighbours_and_co_partitioned(seed: int) -> None:
    """CGP-12: topics of one size with the same readers go together; static members keep their place."""
    dice = Random(2_000 + seed)
    size = dice.randrange(1, 12)
    counts = {uuid(number): size for number in range(dice.randrange(1, 4))}
    readers = dict.fromkeys((f"m{number}" for number in range(dice.randrange(1, 9))), tuple(sorted(counts)))
    found = run(ranges.assign, readers, counts, {})
    check_whole(found, readers, counts)
    for target in found.values():
        assert len({frozenset(indexes) for indexes in target.values()}) <= 1
        for indexes in target.values():
            assert sorted(indexes) == list(range(min(indexes), max(indexes) + 1))
    statics = {
        f"x{dice.randrange(10**6)}": Reader(f"i{place}", reads, {}) for place, reads in enumerate(readers.values())
    }
    renamed = {f"y{place}": each for place, each in enumerate(statics.values())}
    one, two = (next(each for each in ranges.assign(Spec(these, counts, True)) if each) for these in (statics, renamed))
    assert list(one.values()) == list(two.values())
