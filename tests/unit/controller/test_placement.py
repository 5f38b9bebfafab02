"""REP-06: where the replicas of new partitions go. What holds for any dice, and what the dice decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations, product
from random import Random
from typing import Any

import pytest

from controller_runtime.controller.placement import UsableBroker, default_directory, place, shuffle, usable_brokers
from controller_runtime.identifiers import BrokerEpoch, NodeId
from controller_runtime.metadata.cluster import MIGRATING, UNASSIGNED, BrokerRegistration
from support.nodes.controller_world import directory_of, uuid

pytestmark = pytest.mark.unit

SEEDS = range(20)


def dice(seed: int) -> Callable[[int], int]:
    return Random(seed).randrange


def on_racks(*racks: tuple[str, str]) -> list[UsableBroker]:
    """Brokers by rack: ("a", "1 2 -3") is a rack with brokers 1 and 2, and 3, which is fenced."""
    return [
        UsableBroker(abs(int(number)), name or None, fenced=number.startswith("-"))
        for name, numbers in racks
        for number in numbers.split()
    ]


def starting_at(*racks: int) -> Callable[[int], int]:
    """Dice for racks with at most one broker of a kind: they only say with which rack each period begins."""
    numbers = iter(racks)
    return lambda sides: 0 if sides == 1 else next(numbers)


def periods(placed: Sequence[list[int]], length: int) -> list[list[list[int]]]:
    return [list(placed[at : at + length]) for at in range(0, len(placed), length)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("brokers", "factor"), [(2, 1), (3, 1), (3, 2), (5, 3), (4, 4)])
def test_each_broker_leads_as_often_and_holds_as_much_as_any_other(brokers: int, factor: int, seed: int) -> None:
    """In every stretch of as many partitions as there are brokers; there each partition begins one further
    on the ring.
    """
    usable = on_racks(("", " ".join(map(str, range(1, brokers + 1)))))
    for period in periods(place(usable, 4 * brokers, factor, dice(seed)), brokers):
        assert sorted(replicas[0] for replicas in period) == [broker.id for broker in usable]
        held = Counter(broker for replicas in period for broker in replicas)
        assert set(held.values()) == {factor}
        assert all(len(set(replicas)) == factor for replicas in period)
        if factor > 1:
            assert [replicas[1] for replicas in period[:-1]] == [replicas[0] for replicas in period[1:]]


def rings(brokers: int, seed: int) -> list[tuple[int, ...]]:
    """Whom each broker is followed by, period by period."""
    usable = on_racks(("", " ".join(map(str, range(1, brokers + 1)))))
    found = periods(place(usable, 4 * brokers, 2, dice(seed)), brokers)
    return [tuple(follower for _, follower in sorted(period)) for period in found]


def test_the_followers_of_a_leader_change_from_one_stretch_to_the_next() -> None:
    changes = Counter(
        before != after for seed in SEEDS for before, after in zip(rings(4, seed), rings(4, seed)[1:], strict=False)
    )
    assert changes[True] > 2 * changes[False]


def test_two_brokers_are_shuffled_too() -> None:
    """So one may lead the last partition of a stretch and the first of the next."""
    leaders = [[replicas[0] for replicas in place(on_racks(("", "1 2")), 4, 1, dice(seed))] for seed in SEEDS]
    assert {one[1] == one[2] for one in leaders} == {True, False}


@pytest.mark.parametrize("seed", SEEDS)
def test_one_broker_leads_everything_and_the_fenced_ones_take_turns(seed: int) -> None:
    """Nothing is shuffled meanwhile: the stretch of one partition would never let a ring go round."""
    placed = place(on_racks(("", "1 -2 -3 -4")), 9, 2, dice(seed))
    assert {leader for leader, _ in placed} == {1}
    for turn in periods(placed, 3):
        assert sorted(follower for _, follower in turn) == [2, 3, 4]


def test_the_ring_of_fenced_brokers_begins_anywhere() -> None:
    usable = on_racks(("", "1 -2 -3 -4"))
    assert {place(usable, 1, 2, dice(seed))[0][1] for seed in SEEDS} == {2, 3, 4}


@pytest.mark.parametrize("seed", SEEDS)
def test_fenced_brokers_come_last_and_never_lead(seed: int) -> None:
    usable = on_racks(("", "1 2 -3 -4"))
    for factor, fenced in ((1, 0), (2, 0), (3, 1), (4, 2)):
        for replicas in place(usable, 8, factor, dice(seed)):
            assert set(replicas[:2]) <= {1, 2}
            assert len(set(replicas) & {3, 4}) == fenced
            assert len(set(replicas)) == factor


@pytest.mark.parametrize("seed", SEEDS)
def test_replicas_go_round_the_racks_and_each_partition_begins_at_the_next(seed: int) -> None:
    usable = on_racks(("", "1 2"), ("a", "3 4"), ("b", "5 6"))
    rack_of = {broker.id: (broker.id - 1) // 2 for broker in usable}
    for period in periods(place(usable, 12, 3, dice(seed)), 6):
        begun = [rack_of[replicas[0]] for replicas in period]
        assert [(rack - begun[0]) % 3 for rack in begun] == [0, 1, 2, 0, 1, 2]
        for replicas in period:
            racks = [rack_of[broker] for broker in replicas]
            assert [(rack - racks[0]) % 3 for rack in racks] == [0, 1, 2]
        assert Counter(replicas[0] for replicas in period) == Counter(broker.id for broker in usable)


def test_the_first_rack_is_drawn() -> None:
    usable = on_racks(("a", "1"), ("b", "2"), ("c", "3"))
    assert [place(usable, 1, 3, starting_at(rack)) for rack in (0, 1, 2)] == [[[1, 2, 3]], [[2, 3, 1]], [[3, 1, 2]]]


def test_the_first_broker_of_a_rack_is_drawn_beside_their_order() -> None:
    def leader(start: int) -> int:
        order_start_and_rack = iter((2, 1, start, 0))
        return place(on_racks(("", "1 2 3")), 1, 1, lambda _: next(order_start_and_rack))[0][0]

    assert {leader(start) for start in (0, 1, 2)} == {1, 2, 3}


def test_a_rack_that_cannot_lead_still_has_its_turn() -> None:
    """Partition by partition: the next rack that can leads; then all from the first on, but for the leader's first
    turn.
    """
    usable = on_racks(("a", "1"), ("b", "-2"), ("c", "3"), ("d", "4"))
    assert place(usable, 3, 4, starting_at(1)) == [[3, 2, 4, 1], [3, 4, 1, 2], [4, 1, 2, 3]]


def test_a_rack_that_is_used_up_is_passed_over() -> None:
    usable = on_racks(("a", "1 2"), ("b", "3"))
    for seed in SEEDS:
        for replicas in place(usable, 6, 3, dice(seed)):
            assert sorted(replicas) == [1, 2, 3]
            assert replicas[1] == 3 or replicas[0] == 3


def test_all_racks_are_whole_again_after_each_shuffle() -> None:
    """Rack c was last asked for the second partition, and is again."""
    usable = on_racks(("a", "1"), ("b", "2"), ("c", "-3"), ("d", "4"))
    placed = place(usable, 6, 2, starting_at(1, 0))
    assert placed == [[2, 3], [4, 3], [4, 1], [1, 2], [2, 3], [4, 3]]


def test_every_order_is_drawn_once() -> None:
    found, sides = [], []
    for drawn in product(range(3), range(2)):
        numbers, items = iter(drawn), [1, 2, 3]

        def below(n: int, numbers: Any = numbers) -> int:
            sides.append(n)
            return int(next(numbers))

        shuffle(items, below)
        found.append(tuple(items))
    assert sorted(found) == sorted(permutations((1, 2, 3)))
    assert sides == [3, 2] * 6


def broker(directories: int, cordoned: tuple[int, ...] | None = None, **others: Any) -> BrokerRegistration:
    return BrokerRegistration(
        id=NodeId(1),
        epoch=BrokerEpoch(5),
        incarnation_id=uuid("start", 1),
        listeners={},
        features={},
        directories=tuple(directory_of(1, number) for number in range(1, directories + 1)),
        cordoned_directories=None if cordoned is None else tuple(directory_of(1, number) for number in cordoned),
        **others,
    )


@pytest.mark.parametrize(
    ("found", "usable", "directory"),
    [
        (broker(0), True, MIGRATING),
        (broker(0, ()), True, MIGRATING),
        (broker(1), True, directory_of(1, 1)),
        (broker(2), True, UNASSIGNED),
        (broker(2, ()), True, UNASSIGNED),
        (broker(2, (2,)), True, UNASSIGNED),
        (broker(3, (2,)), True, UNASSIGNED),
        (broker(2, (1, 2)), False, UNASSIGNED),
        (broker(1, (1,)), False, directory_of(1, 1)),
        (broker(1, in_controlled_shutdown=True, fenced=False), False, directory_of(1, 1)),
    ],
)
def test_new_replicas_go_to_brokers_with_open_directories(
    found: BrokerRegistration, usable: bool, directory: object
) -> None:
    """KIP-1066: not to brokers that leave or have cordoned all they have; into the only directory, cordoned or not
    since, else as the broker decides.
    """
    assert usable_brokers([found]) == ([UsableBroker(1, None, found.fenced)] if usable else [])
    assert default_directory(found) == directory
