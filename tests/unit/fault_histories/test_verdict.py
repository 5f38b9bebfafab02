"""What an audit of a history complains about: each wrong that a broker could do shows, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.fault_histories.plan import BROKERS, CONTROLLER, Fault, drawn
from support.fault_histories.verdict import Found, amount_of, complaints


def entries(*orders: int) -> list[list[tuple[int, int]]]:
    out: list[list[tuple[int, int]]] = [[], [], []]
    for order in orders:
        out[order % 3].append((order, -amount_of(order)))
        out[(order + 1) % 3].append((order, amount_of(order)))
    return out


RIGHT = Found(queue=[[0, 3], [1, 4], [2]], accounts=entries(0, 1, 2, 3, 4))


def test_nothing_is_wrong_when_all_is_there_once() -> None:
    assert complaints(range(5), RIGHT) == []


def test_an_order_that_was_never_acknowledged_may_be_there() -> None:
    assert complaints(range(3), RIGHT) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (replace(RIGHT, queue=[[0, 3], [1], [2]], accounts=entries(0, 1, 2, 3)), "acknowledged and lost: 4"),
        (replace(RIGHT, queue=[[0, 3, 3], [1, 4], [2]]), "written twice: 3"),
        (replace(RIGHT, queue=[[3, 0], [1, 4], [2]]), "out of order in partition 0: 0"),
        (replace(RIGHT, accounts=entries(0, 1, 2, 4)), "never carried out: 3"),
        (replace(RIGHT, accounts=entries(0, 1, 2, 3, 4, 5)), "carried out without an order: 5"),
        (replace(RIGHT, accounts=entries(0, 1, 2, 3, 4, 4)), "order 4 is in the accounts as {-5: 2, 5: 2}"),
        (replace(RIGHT, accounts=[*entries(0, 1, 2, 3), [(4, -5)]]), "order 4 is in the accounts as {-5: 1}"),
        (replace(RIGHT, accounts=[*entries(0, 1, 2, 3), [(4, -5), (4, 6)]]), "order 4 is in the accounts as"),
    ],
)
def test_each_wrong_is_told(found: Found, said: str) -> None:
    told = complaints(range(5), found)
    assert len(told) == 1, told
    assert told[0].startswith(said)


def test_what_befalls_whom_is_drawn_from_the_seed_and_everything_is_drawn() -> None:
    assert drawn(7) == drawn(7) != drawn(8)
    steps = [step for seed in range(200) for step in drawn(seed)]
    assert {step.fault for step in steps} == set(Fault)
    assert {step.node for step in steps} == {CONTROLLER, *BROKERS}
    assert all((step.other != 0) == (step.fault is Fault.CUT_FROM) and step.other != step.node for step in steps)
    assert not any(step.fault is Fault.FILL for step in steps if step.node == CONTROLLER), "nobody would be left"
