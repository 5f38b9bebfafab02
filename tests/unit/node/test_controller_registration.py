"""How a controller makes itself known to the active one, and how long it waits before it asks again."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Endpoint, Instant, NodeId, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.node.controller_registration import ControllerIdentity, ControllerRegistrar
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from controller_runtime.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from controller_runtime.protocol.messages.register_controller_record import RegisterControllerRecord
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

ME = NodeId(2)
MINE, FORMER = Uuid.of(1, 2), Uuid.of(1, 1)
LEADER = Endpoint("leader", 9093)


def knowing(incarnation: Uuid | None, level: int = 30) -> MetadataImage:
    builder = World(level=level).image.builder()
    if incarnation is not None:
        replay(builder, RegisterControllerRecord(controller_id=ME, incarnation_id=incarnation))
    return builder.freeze()


def registrar() -> ControllerRegistrar:
    return ControllerRegistrar(ControllerIdentity(ME, MINE), CallIds())


def asked(one: ControllerRegistrar, image: MetadataImage, now: float) -> Call | None:
    effects = one.poll(image, LEADER, Instant(now))
    assert len(effects) <= 1
    return effects[0] if effects else None  # type: ignore[return-value]


def pauses(
    one: ControllerRegistrar, count: int, answer: ControllerRegistrationResponse | None, now: float = 1000.0
) -> list[float]:
    """How long it waits each time, when the answer is this (None: none comes)."""
    found = []
    for _ in range(count):
        call = asked(one, knowing(None), now)
        assert call is not None
        assert asked(one, knowing(None), now) is None, "one question at a time"
        if answer is None:
            one.on_failure(call.call_id, Instant(now))
        else:
            one.on_response(call.call_id, answer, Instant(now))
        assert asked(one, knowing(None), now) is None
        due = one.next_deadline()
        assert due is not None
        assert asked(one, knowing(None), due - 0.001) is None
        found.append(round(due - now, 6))
        now = due
    return found


DOUBLED = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 120.0, 120.0]


@pytest.mark.parametrize("answer", [None, ControllerRegistrationResponse(error_code=41)], ids=["none", "an error"])
def test_the_pause_doubles_from_a_tenth_of_a_second_to_two_minutes(
    answer: ControllerRegistrationResponse | None,
) -> None:
    """CLU-13: back-off 100 ms to 120 s."""
    assert pauses(registrar(), len(DOUBLED), answer) == DOUBLED


def test_the_pause_is_short_again_after_a_success() -> None:
    """CLU-13."""
    one = registrar()
    pauses(one, 6, None)
    call = asked(one, knowing(None), 2000.0)
    assert call is not None
    one.on_response(call.call_id, ControllerRegistrationResponse(), Instant(2000.0))
    assert asked(one, knowing(MINE), 3000.0) is None
    assert one.next_deadline() is None
    assert pauses(one, 3, None, now=4000.0) == DOUBLED[:3]


def test_it_registers_until_its_own_incarnation_is_known_and_again_when_another_takes_its_place() -> None:
    """CLU-13: wrong incarnation re-registers."""
    one = registrar()
    for image, wants in (
        (knowing(None), True),
        (knowing(FORMER), True),
        (knowing(MINE), False),
        (knowing(None, 14), False),
    ):
        call = asked(registrar(), image, 1000.0)
        assert (call is not None) is wants
        if call is not None:
            assert isinstance(call.body, ControllerRegistrationRequest)
            assert (call.body.controller_id, call.body.incarnation_id, call.endpoint) == (ME, MINE, LEADER)
    assert asked(one, knowing(MINE), 1000.0) is None
    assert asked(one, knowing(FORMER), 1001.0) is not None


def test_an_answer_to_an_earlier_question_changes_nothing() -> None:
    one = registrar()
    first = asked(one, knowing(None), 1000.0)
    assert first is not None
    one.on_failure(first.call_id, Instant(1000.0))
    second = asked(one, knowing(None), 1000.1)
    assert second is not None
    one.on_response(first.call_id, ControllerRegistrationResponse(), Instant(1000.2))
    one.on_failure(first.call_id, Instant(1000.2))
    assert asked(one, knowing(None), 1100.0) is None, "the second one is still open"


def test_the_active_controller_tells_itself_with_the_same_pauses() -> None:
    """CLU-13."""
    one = registrar()
    assert isinstance(one.own_request(knowing(None), Instant(5.0)), ControllerRegistrationRequest)
    assert one.own_request(knowing(None), Instant(5.09)) is None
    assert one.own_request(knowing(None), Instant(5.11)) is not None
    assert one.own_request(knowing(MINE), Instant(50.0)) is None


def test_it_rests_while_there_is_nobody_to_ask() -> None:
    one = registrar()
    call = asked(one, knowing(None), 1000.0)
    assert call is not None
    one.on_failure(call.call_id, Instant(1000.0))
    assert one.next_deadline() == Instant(1000.1)
    one.rest()
    assert one.next_deadline() is None
