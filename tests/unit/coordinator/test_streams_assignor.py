"""Who gets which task of a streams group: even shares, tasks that stay where they are, and standbys elsewhere. That
Apache Kafka gives the same task to the same member is shown beside it (`tests/interop`).
"""

from __future__ import annotations

from collections import Counter

import pytest

from controller_runtime.coordinator.streams.assignor import Spec, assign
from controller_runtime.coordinator.streams.configuring import ConfiguredSubtopology, InternalTopic
from controller_runtime.coordinator.streams.members import Target

pytestmark = pytest.mark.unit

Given = dict[str, Target]


def subtopology(tasks: int, *, stateful: bool = True) -> ConfiguredSubtopology:
    changelog = InternalTopic("log", tasks, 0, {})
    return ConfiguredSubtopology(tasks, frozenset({"t"}), frozenset(), {}, {"log": changelog} if stateful else {})


def given(
    processes: dict[str, str], tasks: int, before: Given | None = None, *, standbys: int = 0, stateful: bool = True
) -> Given:
    return assign(Spec(processes, before or {}, {"0": subtopology(tasks, stateful=stateful)}, standbys))


def active(found: Given, member: str) -> set[int]:
    return set(found[member].active.get("0", ()))


def standby(found: Given, member: str) -> set[int]:
    return set(found[member].standby.get("0", ()))


def with_active(*indexes: int) -> Target:
    return Target({"0": frozenset(indexes)})


APART = {"a": "p", "b": "q", "c": "r"}


def test_every_task_is_active_once_and_shares_are_even() -> None:
    found = given(APART, 8)
    assert Counter(len(active(found, each)) for each in APART) == {3: 2, 2: 1}
    assert sorted(index for each in APART for index in active(found, each)) == list(range(8))


def test_members_keep_what_they_have_when_another_one_comes() -> None:
    before = {"a": with_active(0, 3, 5), "b": with_active(1, 2, 4)}
    found = given(APART, 6, before)
    assert active(found, "a") < {0, 3, 5}
    assert active(found, "b") < {1, 2, 4}
    assert [len(active(found, each)) for each in APART] == [2, 2, 2]


def test_a_task_goes_to_who_has_its_state_at_hand() -> None:
    """Its member is gone: whoever was standby goes on, not who has the least."""
    before = {"b": Target({"0": frozenset({1})}, {"0": frozenset({0, 2})}), "gone": with_active(0, 2)}
    found = given({"b": "q", "c": "r", "d": "s"}, 6, before)
    assert active(found, "b") == {0, 1}, "as many as its share"


def test_a_standby_is_never_on_the_process_of_its_active_task() -> None:
    processes = {"a1": "p", "a2": "p", "b": "q"}
    found = given(processes, 6, standbys=1)
    on_p = active(found, "a1") | active(found, "a2")
    assert standby(found, "b") == on_p
    assert standby(found, "a1") | standby(found, "a2") == active(found, "b")
    assert standby(found, "a1").isdisjoint(standby(found, "a2"))
    assert {*on_p, *active(found, "b")} == set(range(6))


def test_there_are_no_more_standbys_than_other_processes() -> None:
    found = given({"a": "p", "b": "q"}, 4, standbys=2)
    assert (standby(found, "a"), standby(found, "b")) == (active(found, "b"), active(found, "a"))
    alone = given({"a1": "p", "a2": "p"}, 4, standbys=1)
    assert not any(standby(alone, each) for each in alone)


def test_only_what_has_a_state_has_standbys() -> None:
    found = given(APART, 6, standbys=1, stateful=False)
    assert not any(standby(found, each) for each in APART)


def test_who_was_active_is_standby_before_anybody_else() -> None:
    """It gives tasks to a member that came, and keeps their state, as long as its share lets it."""
    before = {"b": with_active(0, 1, 2, 3)}
    found = given({"a": "p", "b": "q"}, 4, before, standbys=1)
    assert len(active(found, "b")) == 2
    assert standby(found, "b") == {0, 1, 2, 3} - active(found, "b")
    three = given(APART, 4, before, standbys=1)
    assert len(active(three, "b")) == 2
    assert len(standby(three, "b")) == 1
    assert standby(three, "b") < {0, 1, 2, 3} - active(three, "b")


def test_standbys_stay_where_they_are() -> None:
    before = {
        "a": Target({"0": frozenset({0, 1})}, {"0": frozenset({4, 5})}),
        "b": Target({"0": frozenset({2, 3})}, {"0": frozenset({0, 1})}),
        "c": Target({"0": frozenset({4, 5})}, {"0": frozenset({2, 3})}),
    }
    assert given(APART, 6, before, standbys=1) == before


def test_tasks_of_a_subtopology_that_is_no_more_are_nobodys() -> None:
    before = {"a": Target({"0": frozenset({0}), "gone": frozenset({0, 1})}, {"gone": frozenset({2})})}
    assert given({"a": "p"}, 1, before)["a"] == with_active(0)
