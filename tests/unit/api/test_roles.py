"""What a node does, as its label says it: nobody is the opposite of the other."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kraft_operator.api.roles import BROKER, CONTROLLER, controls, meet, roles_of, serves

pytestmark = pytest.mark.unit


@dataclass(frozen=True)
class One:
    role: str


def test_a_label_reads_back_to_the_roles_that_it_was_made_of() -> None:
    assert [roles_of(One(each.label)) for each in (CONTROLLER, BROKER)] == [CONTROLLER, BROKER]


@pytest.mark.parametrize("label", ["", "archive"])
def test_an_object_that_says_no_role_of_ours_is_neither(label: str) -> None:
    assert not controls(One(label))
    assert not serves(One(label))


def test_two_nodes_meet_where_they_do_the_same() -> None:
    controller, broker, other = One(CONTROLLER.label), One(BROKER.label), One("archive")
    assert meet(controller, controller)
    assert meet(broker, broker)
    assert not meet(controller, broker)
    assert not meet(other, other)
