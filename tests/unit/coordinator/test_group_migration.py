"""Groups that change their protocol while their members live (KIP-848), and groups of both kinds of members."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.coordinator.consumer.protocol_metadata import assignment_in
from controller_runtime.coordinator.consumer.settings import ConsumerSettings, MigrationPolicy
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from controller_runtime.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from support.groups.consumers import ORDERS, Members, indexes
from support.groups.coordinated import READ, protocols

pytestmark = pytest.mark.unit

OK, AGAIN = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS


def subscription(*topics: str) -> bytes:
    message = ConsumerProtocolSubscription(topics=topics)
    return b"\0\1" + encode(message, 1)


def assignment(*parts: int, user_data: bytes | None = None) -> bytes:
    assigned = (TopicPartition(topic=READ, partitions=parts),) if parts else ()
    return b"\0\1" + encode(ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data), 1)


CLASSIC: dict[str, Any] = {"protocols": protocols("range", metadata=subscription(READ))}


class Mixed(Members):
    def stable(self, count: int = 2, **more: Any) -> list[str]:
        """A group of the classic protocol whose members share everything; the leader first."""
        answers = self.joined(*["c"] * count, **CLASSIC | more)
        leader = next(each for each in answers if each.members)
        ids = [leader.member_id, *(each.member_id for each in answers if each is not leader)]
        parts = [list(range(8))[place::count] for place in range(count)]
        given = {each: assignment(*mine) for each, mine in zip(ids, parts, strict=True)}
        for member_id in (*ids[1:], ids[0]):
            self.sync(member_id, leader.generation_id, given if member_id == ids[0] else None)
        assert self.state() == "Stable"
        return ids

    def had(self, member_id: str, generation: int) -> list[int]:
        """What a member of the classic protocol is told to have."""
        answer = self.answer(self.sync(member_id, generation))
        assert answer.error_code == OK, answer
        return sorted(assignment_in(answer.assignment, self.logs.image).get(ORDERS, ()))

    def rejoin(self, member_id: str, *owned: int, **more: Any) -> Any:
        parts = (TopicPartition(topic=READ, partitions=owned),) if owned else ()
        message = ConsumerProtocolSubscription(topics=(READ,), owned_partitions=parts)  # type: ignore[arg-type]
        metadata = b"\0\1" + encode(message, 1)
        return self.answer(self.join(member_id, protocols=protocols("range", metadata=metadata), **more))


def test_the_first_member_of_the_consumer_protocol_takes_the_group_with_it() -> None:
    """CGP-16: the others go on with what they have, and are told to join again when there is something to give up."""
    world = Mixed()
    ids = world.stable()
    before = len(world.written())
    new = world.say("new")
    assert (new.error_code, new.member_epoch, indexes(new)) == (OK, 2, [])
    shown = world.described()
    assert (shown.group_state, {each.member_type for each in shown.members}) == ("Reconciling", {0, 1})
    assert world.written()[before : before + 3] == ["-2", "5", "5"]
    for each in ids:
        assert world.beat(each, 1) == AGAIN
    rest = [world.rejoin(each, *had) for each, had in zip(ids, ((0, 2, 4, 6), (1, 3, 5, 7)), strict=True)]
    assert {each.generation_id for each in rest} == {1}, "they are to give up first"
    kept = {each: world.had(each, 1) for each in ids}
    assert sorted(map(len, kept.values())) in ([2, 3], [3, 3])
    for each in ids:
        assert world.beat(each, 1) == AGAIN
        assert world.rejoin(each, *kept[each]).generation_id == 2
        assert world.had(each, 2) == kept[each]
        assert world.beat(each, 2) == OK
    mine = indexes(world.say("new", 2)) or []
    assert sorted([*mine, *(index for had in kept.values() for index in had)]) == list(range(8))
    assert world.described().group_state == "Stable"


def test_members_that_wait_are_told_to_join_again() -> None:
    """CGP-16: by an upgrade in the middle of a rebalance."""
    world = Mixed(initial_rebalance_delay_ms=3_000)
    first = world.answer(world.join(**CLASSIC))
    waiting = world.join(first.member_id, **CLASSIC)
    assert world.answer(waiting) is None
    assert world.say("new").error_code == OK
    assert world.answer(waiting).error_code == AGAIN
    assert world.rejoin(first.member_id).error_code == OK


@pytest.mark.parametrize(
    ("policy", "classic", "given", "why"),
    [
        ("disabled", {}, b"", "online upgrade is disabled"),
        ("downgrade", {}, b"", "online upgrade is disabled"),
        ("upgrade", {"protocol_type": "connect"}, b"", "the group does not use the consumer embedded protocol"),
        ("upgrade", {}, assignment(0, user_data=b"mine"), "an unsupported custom assignor is in use. Please refer"),
        ("upgrade", {"protocols": protocols("range", metadata=b"\0")}, b"", "the embedded consumer protocol is malf"),
        ("upgrade", {}, b"\0\1\0\0\0\7", "the embedded consumer protocol is malformed"),
    ],
)
def test_who_cannot_be_taken_along(policy: str, classic: dict[str, Any], given: bytes, why: str) -> None:
    """CGP-16: 69 in Kafka's words, and nothing changes."""
    world = Mixed(consumer=ConsumerSettings(migration=MigrationPolicy(policy)))
    (joined,) = world.joined("c", **CLASSIC | classic)
    world.sync(joined.member_id, 1, {joined.member_id: given})
    before = len(world.written())
    answer = world.say("new")
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message.startswith(f"Cannot upgrade classic group g to consumer group because {why}")
    assert (len(world.written()), world.state()) == (before, "Stable")


def test_a_group_that_is_empty_changes_either_way() -> None:
    """CGP-16, CGP-17: whatever the policy is; its offsets stay."""
    world = Mixed(consumer=ConsumerSettings(migration=MigrationPolicy.DISABLED))
    ids = world.stable(1)
    world.ask(LeaveGroupRequest(group_id="g", members=(MemberIdentity(member_id=ids[0]),)))
    assert world.say("new").error_code == OK
    assert world.answer(world.join(**CLASSIC)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    world.say("new", -1)
    assert world.described().group_state == "Empty"
    before = len(world.written())
    assert world.answer(world.join(**CLASSIC)).error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert world.written()[before:] == ["-6", "-4", "-3", "2"]
    assert world.described().error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("how", ["leaves", "is silent"])
def test_the_last_member_of_the_consumer_protocol_leaves_a_classic_group(how: str) -> None:
    """CGP-17: a rebalance begins, and whoever coordinates the group next knows it so."""
    world = Mixed()
    ids = world.stable()
    world.say("new")
    if how == "leaves":
        assert world.say("new", -1).error_code == OK
    else:
        while world.described().error_code == OK:
            world.wait(1)
            for each in ids:
                world.beat(each, 1)
                world.rejoin(each)
        world.wait(1)
    assert world.state() in ("PreparingRebalance", "CompletingRebalance")
    assert world.described().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    again = [world.join(each, **CLASSIC) for each in ids]
    generation = world.answer(again[0]).generation_id
    assert generation >= 3
    assert world.written()[-1] == "2"
    other = Mixed(logs=world.logs)
    assert {each.member_id for each in other.partition("g").groups["g"].members.by_id.values()} == set(ids)


def test_a_static_member_goes_back_to_the_classic_protocol() -> None:
    """CGP-17: it was the last of the consumer protocol; what it has stays with it, and nobody is disturbed."""
    world = Mixed()
    world.say("new", instance_id="i")
    back = world.rejoin("", group_instance_id="i")
    assert (back.error_code, back.protocol_name) == (OK, "range")
    assert world.state() == "Stable"
    assert world.had(back.member_id, back.generation_id) == list(range(8))


def test_what_members_of_the_classic_protocol_are_told_in_a_mixed_group() -> None:
    """CGP-18: codes and deadlines."""
    world = Mixed()
    ids = world.stable()
    world.say("new")
    asked = world.join(**CLASSIC)
    named = world.answer(asked)
    assert (named.error_code, len(named.member_id)) == (ErrorCode.MEMBER_ID_REQUIRED, 22)
    assert world.answer(world.join(protocols=protocols("other", metadata=subscription(READ)))).error_code == (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    assert world.beat("nobody", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat("new", 2) == ErrorCode.UNKNOWN_MEMBER_ID, "it is of the consumer protocol"
    assert world.beat(ids[0], 7) == ErrorCode.ILLEGAL_GENERATION
    assert world.answer(world.sync(ids[0], 1)).error_code == AGAIN
    assert world.beat(ids[0], 1) == AGAIN
    world.rejoin(ids[1])
    world.had(ids[1], world.described().members[1].member_epoch)
    for _ in range(8):
        world.wait(7.6)
        world.say("new", 2)
        world.beat(ids[0], 1)
        world.rejoin(ids[1])
        world.sync(ids[1], 2)
    assert ids[0] not in {each.member_id for each in world.described().members}, "it did not join in time"


def test_members_leave_a_mixed_group_by_either_protocol() -> None:
    """CGP-18, GRP-17"""
    world = Mixed()
    ids = world.stable(3)
    world.say("new")
    answer = world.ask(
        LeaveGroupRequest(group_id="g", members=(MemberIdentity(member_id=ids[0]), MemberIdentity(member_id="x")))
    )
    assert [each.error_code for each in answer.members] == [OK, ErrorCode.UNKNOWN_MEMBER_ID]
    assert {each.member_id for each in world.described().members} == {*ids[1:], "new"}
