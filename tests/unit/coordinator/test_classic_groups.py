"""Groups of the classic protocol: who joins, who is waited for, who is told what, and when."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from controller_runtime.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest
from support.groups.coordinated import Coordinated, codes, commit, join, protocols, sync

pytestmark = pytest.mark.unit

OK = ErrorCode.NONE
UNKNOWN, FENCED, AGAIN = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.REBALANCE_IN_PROGRESS,
)


def stable(world: Coordinated, *count: str, **more: Any) -> list[str]:
    """A group whose members are told what they have; their ids, the leader first."""
    answers = world.joined(*count, **more)
    leader = next(each for each in answers if each.members)
    ids = [leader.member_id, *(each.member_id for each in answers if each is not leader)]
    asked = [world.sync(member, leader.generation_id) for member in ids[1:]]
    asked.append(world.sync(ids[0], leader.generation_id, dict.fromkeys(ids, b"share")))
    assert {world.answer(each).assignment for each in asked} == {b"share"}
    assert world.state() == "Stable"
    return ids


def test_a_member_joins_with_the_id_that_it_is_given() -> None:
    """GRP-01, KIP-394"""
    world = Coordinated()
    first = world.answer(world.join())
    assert (first.error_code, first.member_id) == (
        ErrorCode.MEMBER_ID_REQUIRED,
        "client-00000000-0000-0000-0000-000000000001",
    )
    asked = world.join(first.member_id)
    world.wait(0.001)
    answer = world.answer(asked)
    assert (answer.error_code, answer.generation_id, answer.leader) == (OK, 1, first.member_id)


def test_an_id_that_nobody_uses_expires() -> None:
    """GRP-01: after the session timeout; and a client of before KIP-394 has one at once."""
    world = Coordinated()
    member = world.answer(world.join()).member_id
    world.wait(10.1)
    assert world.answer(world.join(member)).error_code == UNKNOWN
    old = world.join(version=3)
    world.wait(0.001)
    assert world.answer(old).error_code == OK


def test_the_first_members_are_waited_for_again_and_again_but_not_for_ever() -> None:
    """GRP-03: as long as somebody came in the last delay, and at most the largest rebalance timeout."""
    world = Coordinated(initial_rebalance_delay_ms=3_000)
    asked = [world.join(version=3, rebalance_timeout_ms=10_000)]
    for _ in range(3):
        world.wait(2.5)
        asked.append(world.join(version=3, rebalance_timeout_ms=10_000))
    world.wait(2.4)
    assert {world.answer(each) is None for each in asked} == {True}, "all of them wait"
    asked.append(world.join(version=3, rebalance_timeout_ms=10_000))
    world.wait(0.2)
    assert {world.answer(each).generation_id for each in asked} == {1}, "ten seconds are over"
    quiet = Coordinated(initial_rebalance_delay_ms=3_000)
    alone = quiet.join(version=3, rebalance_timeout_ms=10_000)
    quiet.wait(3.1)
    assert quiet.answer(alone).generation_id == 1, "nobody else has come"


def test_a_rebalance_ends_when_all_have_joined() -> None:
    """GRP-04"""
    world = Coordinated()
    first, second = stable(world, "a", "b")
    third = world.join(version=3)
    assert [world.beat(member, 1) for member in (first, second)] == [AGAIN, AGAIN]
    asked = [third, world.join(first)]
    assert {world.answer(each) for each in asked} == {None}
    asked.append(world.join(second))
    assert {world.answer(each).generation_id for each in asked} == {2}
    assert [len(world.answer(each).members) for each in asked] == [0, 3, 0], "only the leader is told of all"


def test_a_rebalance_ends_without_those_who_do_not_come() -> None:
    """GRP-04, GRP-06: dynamic members are no members any more, static ones stay."""
    world = Coordinated()
    gone, fixed = stable(world, "a", "b", session_timeout_ms=1_000_000)[0], None
    fixed = world.join(version=5, group_instance_id="i", session_timeout_ms=1_000_000)
    world.wait(60.0)
    static = world.answer(fixed).member_id
    assert world.beat(gone, 1) == UNKNOWN
    late = world.join(version=3, session_timeout_ms=1_000_000)
    world.wait(60.0)
    assert world.answer(late).error_code == OK
    generation = world.answer(late).generation_id
    assert world.beat(static, generation, instance="i") == OK, "it has not rejoined, and stays"


def test_another_member_leads_when_the_leader_is_lost() -> None:
    """GRP-05, GRP-16: its session ends, the others join again, and one of them is told who is there."""
    world = Coordinated()
    leader, other = stable(world, "a", "b")
    world.wait(6.0)
    assert world.beat(other, 1) == OK
    world.wait(6.0)
    assert (world.beat(leader, 1), world.beat(other, 1)) == (UNKNOWN, AGAIN)
    answer = world.answer(world.join(other))
    assert (answer.leader, [each.member_id for each in answer.members]) == (other, [other])


def test_a_session_lasts_while_a_member_waits_for_us() -> None:
    """KAFKA-9752 is its other side: a member that joins for the first time is not waited for without end."""
    world = Coordinated()
    member, other = stable(world, "a", "b", rebalance_timeout_ms=600_000)
    waits = world.join(other, rebalance_timeout_ms=600_000, protocols=protocols("range", metadata=b"new"))
    newcomer = world.join(version=3, rebalance_timeout_ms=600_000)
    for _ in range(70):
        world.wait(5.0)
        if world.answer(waits) is None:
            world.beat(member, 1)
        if world.answer(newcomer) is not None:
            break
    assert world.answer(newcomer).error_code == UNKNOWN, "five minutes are over"
    assert world.answer(waits) is None, "it waits for the member that only beats"


def test_the_protocol_is_what_most_prefer_of_what_all_have() -> None:
    """GRP-10"""
    world = Coordinated(initial_rebalance_delay_ms=1_000)
    wishes = (("a", "b", "c"), ("c", "b"), ("b", "c", "x"), ("x", "b", "c"))
    asked = [world.join(version=3, protocols=protocols(*each)) for each in wishes]
    world.wait(3.0)
    assert {world.answer(each).protocol_name for each in asked} == {"b"}
    refused = world.answer(world.join(version=3, protocols=protocols("a")))
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_who_joins_again_with_the_same_words_is_told_what_is() -> None:
    """GRP-11: while others are told, and when it is stable; the leader may ask for a new assignment."""
    world = Coordinated()
    leader, other = stable(world, "a", "b")
    assert world.answer(world.join(other)).generation_id == 1
    again = world.join(leader)
    assert world.answer(again) is None
    world.answer(world.join(other))
    assert world.answer(again).generation_id == 2
    repeated = world.answer(world.join(leader))
    assert (repeated.generation_id, len(repeated.members)) == (2, 2)


def test_members_wait_for_the_leaders_assignment() -> None:
    """GRP-12: whom it leaves out has an empty one."""
    world = Coordinated()
    answers = world.joined("a", "b")
    leader = next(each.member_id for each in answers if each.members)
    other = next(each.member_id for each in answers if not each.members)
    waits = world.sync(other, 1)
    assert world.answer(waits) is None
    assert codes(world.ask(commit({0: 1}, other, 1), 9)) == {AGAIN}
    mine = world.sync(leader, 1, {leader: b"all"})
    assert (world.answer(waits).assignment, world.answer(mine).assignment) == (b"", b"all")


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, UNKNOWN),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_lie_of_who_syncs_changes_nothing(told: dict[str, Any], error: ErrorCode) -> None:
    """GRP-12"""
    world = Coordinated()
    (member,) = stable(world, "a")
    named: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}
    named |= {"member_id": member, "generation_id": 1}
    assert world.ask(SyncGroupRequest(group_id="g", **named | told)).error_code == error
    assert world.beat(member, 1) == OK


def test_an_assignment_that_is_not_written_is_told_to_nobody() -> None:
    """GRP-13: all of them learn the error, and join again."""
    world = Coordinated()
    answers = world.joined("a", "b")
    leader = next(each.member_id for each in answers if each.members)
    other = next(each.member_id for each in answers if not each.members)
    waits = world.sync(other, 1)
    world.logs.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    mine = world.sync(leader, 1, {leader: b"all"})
    told = {world.answer(each).error_code for each in (waits, mine)}
    assert told == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert world.beat(other, 1) == AGAIN


def test_an_assignment_is_told_when_it_is_committed() -> None:
    """GRP-24: and one that is not in time is an error, too."""
    world = Coordinated(holds=True)
    first = world.join(version=3)
    world.wait(0.001)
    member = world.answer(first).member_id
    asked = world.sync(member, 1, {member: b"all"})
    assert world.answer(asked) is None
    assert world.state() == "CompletingRebalance"
    world.commit()
    assert world.answer(asked).assignment == b"all"
    again = world.join(member, protocols=protocols("range", metadata=b"other"))
    world.wait(0.001)
    late = world.sync(member, world.answer(again).generation_id, {member: b"new"})
    world.wait(5.0)
    assert world.answer(late).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_an_assignment_of_an_older_generation_is_nobodys_any_more() -> None:
    """GRP-12, GRP-24: it is committed while the next generation waits for its own."""
    world = Coordinated(holds=True)
    first = world.join(version=3)
    world.wait(0.001)
    member = world.answer(first).member_id
    old = world.sync(member, 1, {member: b"old"})
    again = world.join(member, protocols=protocols("range", metadata=b"other"))
    world.wait(0.001)
    assert world.answer(old).error_code == AGAIN
    assert world.answer(again).generation_id == 2
    world.commit()
    assert world.state() == "CompletingRebalance", "nobody has assigned anything in this generation"
    new = world.sync(member, 2, {member: b"new"})
    world.commit()
    assert world.answer(new).assignment == b"new"


def test_members_that_do_not_ask_for_their_assignment_are_removed() -> None:
    """GRP-14"""
    world = Coordinated()
    answers = world.joined("a", "b", session_timeout_ms=100_000)
    leader = next(each.member_id for each in answers if each.members)
    silent = next(each.member_id for each in answers if not each.members)
    world.sync(leader, 1, {leader: b"all"})
    assert world.state() == "Stable"
    world.wait(60.0)
    assert (world.beat(silent, 1), world.beat(leader, 1)) == (UNKNOWN, AGAIN)


def test_a_static_member_that_comes_back_disturbs_nobody() -> None:
    """GRP-07: it has its assignment, the leader is told to leave things as they are; before version 9 an older leader's
    name says so.
    """
    world = Coordinated()
    first = world.join(group_instance_id="i")
    world.wait(0.001)
    old = world.answer(first).member_id
    world.sync(old, 1, {old: b"all"})
    for version, skips in ((9, True), (8, False)):
        again = world.answer(world.join(group_instance_id="i", version=version))
        assert (again.error_code, again.generation_id, again.skip_assignment) == (OK, 1, skips)
        assert (again.leader == again.member_id) is skips
        assert len(again.members) == int(skips)
        assert world.beat(old, 1, instance="i") == FENCED, "GRP-09"
        unnamed = world.ask(sync(again.member_id, 1, "g", {}), 5)
        assert unnamed.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        named = sync(again.member_id, 1, "g", {}, protocol_type="consumer", protocol_name="range")
        assert world.ask(named).assignment == b"all"
        old = again.member_id
    moved = world.moved()
    assert moved.beat(old, 1, instance="i") == OK, "its new id is written down"


def test_a_static_member_that_cannot_be_written_down_keeps_its_old_id() -> None:
    """GRP-07, GRP-24"""
    world = Coordinated()
    first = world.join(group_instance_id="i")
    world.wait(0.001)
    old = world.answer(first).member_id
    world.sync(old, 1, {old: b"all"})
    world.logs.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    refused = world.answer(world.join(group_instance_id="i"))
    assert refused.error_code == ErrorCode.NOT_COORDINATOR
    assert world.beat(old, 1, instance="i") == OK


def test_a_static_member_that_comes_back_while_others_are_told_makes_them_join_again() -> None:
    """GRP-08, KAFKA-9801: else the assignment would go to an id that nobody has."""
    world = Coordinated()
    asked = world.join(group_instance_id="i")
    world.wait(0.001)
    old = world.answer(asked).member_id
    waits = world.join(group_instance_id="i")
    answer = world.answer(waits)
    assert (answer.generation_id, answer.member_id != old) == (2, True)
    assert world.ask(sync(old, 2, "g", {}, group_instance_id="i"), 4).error_code == FENCED


def test_the_same_instance_twice_fences_the_older_one_that_waits() -> None:
    """GRP-09"""
    world = Coordinated(initial_rebalance_delay_ms=3_000)
    first = world.join(group_instance_id="i")
    second = world.join(group_instance_id="i")
    assert world.answer(first).error_code == FENCED
    world.wait(6.0)
    assert world.answer(second).error_code == OK


def test_members_leave_together_and_each_is_told() -> None:
    """GRP-17: an administrator names the instance alone."""
    world = Coordinated()
    asked = world.join(group_instance_id="i"), world.join(group_instance_id="j")
    world.wait(0.001)
    world.wait(0.001)
    me = world.answer(asked[0]).member_id
    leaving = (
        MemberIdentity(member_id="", group_instance_id="j"),
        MemberIdentity(member_id="nobody"),
        MemberIdentity(member_id="nobody", group_instance_id="i"),
        MemberIdentity(member_id=me, group_instance_id="i"),
    )
    answer = world.ask(LeaveGroupRequest(group_id="g", members=leaving))
    assert [each.error_code for each in answer.members] == [OK, UNKNOWN, FENCED, OK]
    assert world.state() == "Empty"
    old = world.ask(LeaveGroupRequest(group_id="g", member_id=me), 2)
    assert (old.error_code, old.members) == (UNKNOWN, ())


def test_a_group_has_no_more_members_than_it_may() -> None:
    """GRP-02; GRP-18: and who takes it over with fewer makes them join again."""
    world = Coordinated(max_size=2)
    members = stable(world, "a", "b")
    assert world.answer(world.join()).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    smaller = Coordinated(max_size=1, logs=world.logs)
    assert smaller.beat(members[0], 1) == AGAIN


@pytest.mark.parametrize(("timeout_ms", "error"), [(5_999, 26), (6_000, 79), (1_800_000, 79), (1_800_001, 26)])
def test_sessions_are_neither_too_short_nor_too_long(timeout_ms: int, error: int) -> None:
    """GRP-02"""
    assert Coordinated().ask(join(session_timeout_ms=timeout_ms)).error_code == error


def test_whoever_waits_is_told_when_another_broker_coordinates() -> None:
    """GRP-19, GRP-20"""
    world = Coordinated()
    members = stable(world, "a", "b")
    waits = world.join(members[0])
    moved = world.moved()
    assert world.answer(waits).error_code == ErrorCode.NOT_COORDINATOR
    assert world.beat(members[0], 1) == ErrorCode.NOT_COORDINATOR
    assert [moved.beat(member, 1) for member in members] == [OK, OK], "they are alive there"
    assert moved.state() == "Stable"
    moved.wait(10.1)
    assert moved.state() == "Empty", "each has one whole session there"


def test_a_coordinator_that_loads_ends_nobodys_session() -> None:
    """GRP-19: heartbeats are answered, everything else is to be asked again."""
    world = Coordinated()
    (member,) = stable(world, "a")
    world.coordinator.lead(0)
    assert world.beat(member, 1) == OK
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.answer(world.join(member)).error_code == loading
    assert codes(world.ask(commit({0: 1}, member, 1), 9)) == {loading}


def subscription(*topics: str) -> Any:
    return protocols("range", metadata=b"\0\0" + encode(ConsumerProtocolSubscription(topics=topics), 0))


def test_what_consumers_subscribe_to_is_known() -> None:
    """OFF-11"""
    world = Coordinated()
    stable(world, "a", protocols=subscription("orders"))
    group = world.partition("g").groups["g"]
    assert group.subscribed == frozenset({"orders"})
    assert world.moved().partition("g").groups["g"].subscribed == frozenset({"orders"})
