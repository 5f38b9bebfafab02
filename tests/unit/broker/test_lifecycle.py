"""A broker's life with the controller, told step by step."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.broker.lifecycle import BrokerIdentity, BrokerLifecycle, Fatal, State
from controller_runtime.identifiers import BrokerEpoch, DirectoryId, Endpoint, Instant, NodeId, Offset, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse

pytestmark = pytest.mark.unit

ME = BrokerIdentity(
    node_id=NodeId(11),
    cluster_id="cluster",
    incarnation_id=Uuid.of(1, 2),
    listeners=(("PLAINTEXT", Endpoint("localhost", 9092), 0),),
    features={"metadata.version": (7, 30), "group.version": (0, 1)},
    log_dirs=(DirectoryId(Uuid.of(3, 3)),),
    rack="r1",
    previous_epoch=BrokerEpoch(5),
)
OK = ErrorCode.NONE


class Story:
    """A broker and its clock."""

    def __init__(self) -> None:
        self.now = Instant(100.0)
        self.broker = BrokerLifecycle(ME, self.now)

    @property
    def state(self) -> State:
        return self.broker.state

    def poll(self, offset: int = 0, *, reachable: bool = True) -> object:
        return self.broker.poll(Offset(offset), self.now, reachable=reachable)

    def next(self, offset: int = 0) -> object:
        """Wait until it wants something."""
        deadline = self.broker.next_deadline()
        assert deadline is not None
        self.now = Instant(max(self.now, deadline))
        return self.poll(offset)

    def register(self, epoch: int = 40) -> None:
        assert isinstance(self.next(), BrokerRegistrationRequest)
        assert self.broker.on_registration(BrokerRegistrationResponse(broker_epoch=epoch), self.now) is None

    def beat(self, **said: Any) -> BrokerHeartbeatRequest:
        sent = self.next(offset=50)
        assert isinstance(sent, BrokerHeartbeatRequest)
        self.broker.on_heartbeat(BrokerHeartbeatResponse(**said), self.now)
        return sent

    def run(self) -> None:
        self.register()
        self.beat(is_caught_up=True, is_fenced=True)
        self.broker.recovered(self.now)
        self.beat(is_caught_up=True, is_fenced=False)
        assert self.state is State.RUNNING


def test_it_registers_catches_up_and_unfences() -> None:
    story = Story()
    registration = story.poll()
    assert isinstance(registration, BrokerRegistrationRequest)
    assert (registration.broker_id, registration.previous_broker_epoch, registration.rack) == (11, 5, "r1")
    assert [feature.name for feature in registration.features] == ["group.version", "metadata.version"]
    assert registration.log_dirs == ME.log_dirs
    story.broker.on_registration(BrokerRegistrationResponse(broker_epoch=40), story.now)
    behind = story.beat(is_caught_up=False, is_fenced=True)
    assert (behind.want_fence, behind.broker_epoch, behind.current_metadata_offset) == (True, 40, 50)
    assert story.broker.state.name == "STARTING"
    story.beat(is_caught_up=True, is_fenced=True)
    assert story.broker.state.name == "RECOVERY"
    assert story.beat(is_caught_up=True, is_fenced=True).want_fence is True
    assert story.broker.state.name == "RECOVERY"
    story.broker.recovered(story.now)
    assert story.beat(is_caught_up=True, is_fenced=False).want_fence is False
    assert story.state is State.RUNNING
    assert story.broker.fenced is False


def test_a_long_recovery_is_no_reason_to_beat_faster_than_a_running_broker() -> None:
    story = Story()
    story.register()
    story.beat(is_caught_up=True, is_fenced=True)
    beats = []
    for _ in range(3):
        before = story.now
        assert story.beat(is_caught_up=True, is_fenced=True).want_fence is True
        beats.append(round(story.now - before, 3))
    assert beats == [0.01, 2.0, 2.0]
    assert story.state is State.RECOVERY


@pytest.mark.parametrize("when", ["between heartbeats", "while one is under way"])
def test_the_controller_learns_at_once_that_all_is_recovered(when: str) -> None:
    story = Story()
    story.register()
    story.beat(is_caught_up=True, is_fenced=True)
    assert isinstance(story.next(), BrokerHeartbeatRequest)
    if when == "between heartbeats":
        story.broker.on_heartbeat(BrokerHeartbeatResponse(is_caught_up=True, is_fenced=True), story.now)
    story.broker.recovered(story.now)
    before = story.now
    if when == "while one is under way":
        assert story.poll() is None, "one at a time"
        story.broker.on_heartbeat(BrokerHeartbeatResponse(is_caught_up=True, is_fenced=True), story.now)
    assert story.beat(is_caught_up=True, is_fenced=True).want_fence is False
    assert story.now - before <= 0.011
    before = story.now
    story.beat(is_caught_up=True, is_fenced=False)
    assert (round(story.now - before, 3), story.state) == (0.1, State.RUNNING)


def test_nobody_runs_before_it_is_recovered_whatever_the_controller_says() -> None:
    story = Story()
    story.register()
    story.beat(is_caught_up=True, is_fenced=True)
    story.beat(is_caught_up=True, is_fenced=False)
    assert story.state is State.RECOVERY


def test_one_request_is_in_flight_at_a_time() -> None:
    story = Story()
    assert story.poll() is not None
    assert story.poll() is None


def test_a_running_broker_beats_every_two_seconds() -> None:
    story = Story()
    story.run()
    story.beat(is_fenced=False)
    before = story.now
    story.beat(is_fenced=False)
    assert story.now - before == pytest.approx(2.0)


def test_without_a_controller_it_waits_and_does_not_spin() -> None:
    story = Story()
    assert story.poll(reachable=False) is None
    deadline = story.broker.next_deadline()
    assert deadline is not None
    assert deadline >= story.now + 0.1


def test_failures_are_retried_with_a_growing_pause() -> None:
    story = Story()
    pauses = []
    for _ in range(7):
        assert story.next() is not None
        story.broker.failed(story.now)
        deadline = story.broker.next_deadline()
        assert deadline is not None
        pauses.append(round(deadline - story.now, 3))
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


def test_a_registration_that_never_succeeds_is_fatal_and_says_why() -> None:
    story = Story()
    outcome: object = None
    while not isinstance(outcome, Fatal):
        outcome = story.next()
        if isinstance(outcome, BrokerRegistrationRequest):
            refused = BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
            assert story.broker.on_registration(refused, story.now) is None
    assert story.now == pytest.approx(160.0)
    assert outcome.reason == (
        "not registered within 60 seconds: the controller refused it with DUPLICATE_BROKER_REGISTRATION"
    )


@pytest.mark.parametrize("error", [ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REGISTRATION])
def test_a_registration_that_can_never_succeed_is_fatal_at_once(error: ErrorCode) -> None:
    story = Story()
    story.poll()
    outcome = story.broker.on_registration(BrokerRegistrationResponse(error_code=error), story.now)
    assert outcome == Fatal(f"registration: the controller refused it with {error.name}")


def test_it_leaves_when_the_controller_lets_it_go() -> None:
    story = Story()
    story.run()
    story.broker.shut_down(story.now)
    assert story.beat(is_fenced=False, should_shut_down=False).want_shut_down is True
    assert story.broker.state.name == "CONTROLLED_SHUTDOWN"
    story.beat(is_fenced=True, should_shut_down=True)
    assert story.state is State.STOPPED
    assert story.broker.next_deadline() is None
    assert story.poll() is None


def test_a_broker_that_nobody_knows_leaves_at_once() -> None:
    story = Story()
    story.broker.shut_down(story.now)
    assert story.state is State.STOPPED
    unregistered = Story()
    unregistered.run()
    unregistered.broker.shut_down(unregistered.now)
    unregistered.beat(error_code=ErrorCode.STALE_BROKER_EPOCH)
    assert unregistered.state is State.STOPPED


def test_a_fenced_broker_knows_it_and_asks_again() -> None:
    story = Story()
    story.run()
    story.beat(is_fenced=True)
    assert (story.broker.fenced, story.broker.state) == (True, State.RUNNING)
    assert story.beat(is_fenced=False).want_fence is False
    assert story.broker.fenced is False


def test_a_broker_is_fenced_until_the_controller_says_otherwise() -> None:
    assert Story().broker.fenced is True


def test_a_registration_without_an_answer_is_given_up_in_the_end() -> None:
    story = Story()
    assert isinstance(story.poll(), BrokerRegistrationRequest)
    assert story.broker.next_deadline() == pytest.approx(160.0)
    assert story.next() == Fatal("not registered within 60 seconds: no active controller was reached")


def test_a_heartbeat_without_an_answer_is_waited_for() -> None:
    story = Story()
    story.register()
    assert isinstance(story.next(), BrokerHeartbeatRequest)
    assert story.broker.next_deadline() is None
    story.now = Instant(1000.0)
    assert story.poll() is None, "a broker that is registered stays so"


def pauses(story: Story, times: int) -> list[float]:
    """How long it waits after each failure."""
    found = []
    for _ in range(times):
        assert story.next() is not None
        story.broker.failed(story.now)
        deadline = story.broker.next_deadline()
        assert deadline is not None
        found.append(round(deadline - story.now, 3))
    return found


def test_every_success_makes_the_pauses_short_again() -> None:
    story = Story()
    assert pauses(story, 3) == [0.1, 0.2, 0.4]
    story.register()
    assert story.broker.next_deadline() == story.now, "the first heartbeat follows at once"
    assert pauses(story, 3) == [0.1, 0.2, 0.4]
    story.beat(is_caught_up=False, is_fenced=True)
    assert pauses(story, 2) == [0.1, 0.2]


@pytest.mark.parametrize("error", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT])
def test_a_heartbeat_that_is_refused_is_tried_again_with_a_growing_pause(error: ErrorCode) -> None:
    story = Story()
    story.run()
    waits = []
    for _ in range(3):
        story.beat(error_code=error)
        deadline = story.broker.next_deadline()
        assert deadline is not None
        waits.append(round(deadline - story.now, 3))
    assert (waits, story.state, story.broker.fenced) == ([0.1, 0.2, 0.4], State.RUNNING, False)


def test_a_broker_that_leaves_is_not_let_go_by_an_error_of_the_moment() -> None:
    story = Story()
    story.run()
    story.broker.shut_down(story.now)
    story.beat(error_code=ErrorCode.REQUEST_TIMED_OUT)
    assert story.broker.state.name == "CONTROLLED_SHUTDOWN"
    story.beat(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED)
    assert story.broker.state.name == "STOPPED"


def due_after_growth(story: Story) -> float | None:
    """When it wants to speak, after its image has grown."""
    story.now = Instant(story.now + 0.001)
    story.broker.metadata_advanced(MetadataImage.empty(), story.now)
    deadline = story.broker.next_deadline()
    return None if deadline is None else round(deadline - story.now, 3)


def test_a_broker_that_catches_up_tells_the_controller_at_once() -> None:
    story = Story()
    story.register()
    story.beat(is_caught_up=False, is_fenced=True)
    assert due_after_growth(story) == 0.0
    assert isinstance(story.next(), BrokerHeartbeatRequest)
    assert due_after_growth(story) is None, "the heartbeat under way is answered first"
    assert story.poll() is None


def test_growth_of_the_image_hurries_nobody_else() -> None:
    unregistered = Story()
    unregistered.next()
    unregistered.broker.failed(unregistered.now)
    assert due_after_growth(unregistered) == pytest.approx(0.099)
    running = Story()
    running.run()
    running.beat(is_fenced=False)
    assert due_after_growth(running) == pytest.approx(1.999)


def test_a_heartbeat_that_is_due_already_is_not_put_off_by_growth() -> None:
    story = Story()
    story.register()
    due = story.broker.next_deadline()
    story.now = Instant(story.now + 5)
    story.broker.metadata_advanced(MetadataImage.empty(), story.now)
    assert story.broker.next_deadline() == due
