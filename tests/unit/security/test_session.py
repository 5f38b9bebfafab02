"""A connection with SASL from its first frame on: what is answered, passed, refused, and when its time is over."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import pytest

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.server import Accepted, Challenge, Refused, ServerMechanism
from controller_runtime.security.session import Authenticated, Close, Fail, Pass, Reply, Session, Step
from support.clients.sasl_frames import authenticate, framed, handshake, read_authenticate, read_handshake, versions
from support.sampling import run_seed

pytestmark = pytest.mark.unit

WALL: Final = WallClock(1_000_000)


class Says:
    """The outside world's part: a mechanism whose token is `name`, `name until <ms>`, `more` or anything wrong."""

    def on_token(self, token: bytes) -> Challenge | Accepted:
        words = token.decode(errors="replace").split()
        match words:
            case ["more"]:
                return Challenge(b"say more")
            case [name, "until", ends]:
                return Accepted(Identity(f"User:{name}", expires_at_ms=int(ends)))
            case [name]:
                return Accepted(Identity(f"User:{name}"), b"welcome")
            case ["said", *_]:
                raise Refused("why", "words for the client")
            case _:
                raise Refused("why")


class Talk:
    def __init__(self, max_reauth_ms: int = 0) -> None:
        mechanisms: dict[str, Callable[[], ServerMechanism]] = {"ONE": Says, "TWO": Says}
        self.session = Session(mechanisms, {"ONE": max_reauth_ms} if max_reauth_ms else {})
        self.now = 100.0

    def say(self, frame: bytes) -> Step:
        return self.session.on_frame(frame, Instant(self.now), WALL)

    def log_in(self, token: bytes = b"ann", mechanism: str = "ONE") -> Step:
        assert isinstance(self.say(handshake(mechanism)), Reply)
        return self.say(authenticate(token))


METADATA: Final = framed(MetadataRequest(), 12)


def test_versions_then_handshake_or_the_handshake_first() -> None:
    """SAS-01."""
    for before in ([], [versions()]):
        talk = Talk()
        assert [talk.say(frame) for frame in before] == [Pass()] * len(before)
        step = talk.say(handshake("ONE"))
        assert isinstance(step, Reply)
        assert read_handshake(step.frame) == SaslHandshakeResponse(mechanisms=("ONE", "TWO"))
        done = talk.say(authenticate(b"ann"))
        assert isinstance(done, Authenticated)
        assert (done.identity, talk.session.is_complete) == (Identity("User:ann"), True)
        assert read_authenticate(done.frame).auth_bytes == b"welcome"
        assert talk.say(METADATA) == Pass()


def test_versions_that_are_refused_may_be_asked_again() -> None:
    """SAS-02 and SAS-03: an unknown version, and a name that is none, are answered by the node and change nothing."""
    talk = Talk()
    unknown = bytearray(versions())
    unknown[2:4] = (99).to_bytes(2, "big")
    assert talk.say(bytes(unknown)) == Pass()
    assert talk.say(versions(name="not a name")) == Pass()
    assert talk.say(versions()) == Pass()
    assert isinstance(talk.say(handshake("ONE")), Reply)


def test_versions_are_answered_once() -> None:
    """SAS-04."""
    talk = Talk()
    assert talk.say(versions(version=2)) == Pass()
    assert isinstance(talk.say(versions()), Close)


@pytest.mark.parametrize("frame", [METADATA, authenticate(b"ann"), b"", b"\0", b"\x7f\x7f\0\0\0\0\0\0", b"GET / HTTP"])
def test_nothing_else_is_heard_before(frame: bytes) -> None:
    """SAS-05: not even its body is read."""
    assert isinstance(Talk().say(frame), Close)
    talk = Talk()
    talk.say(versions())
    assert isinstance(talk.say(frame), Close)


def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are() -> None:
    """SAS-06; nobody is asked for a weaker one than those."""
    step = Talk().say(handshake("PLAIN"))
    assert isinstance(step, Fail)
    assert step.frame is not None
    wanted = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=("ONE", "TWO"))
    assert read_handshake(step.frame) == wanted


def test_another_request_among_tokens_is_refused_in_its_own_shape() -> None:
    """SAS-07."""
    for frame in (handshake("ONE"), framed(ApiVersionsRequest(), 2)):
        talk = Talk()
        talk.say(handshake("ONE"))
        step = talk.say(frame)
        assert isinstance(step, Fail)
        assert step.frame is not None
        assert step.frame[8:10] == ErrorCode.ILLEGAL_SASL_STATE.to_bytes(2, "big")


def test_raw_tokens_follow_a_handshake_of_version_0() -> None:
    """SAS-08: no headers, and no words for who fails."""
    talk = Talk()
    assert isinstance(talk.say(handshake("ONE", version=0)), Reply)
    assert talk.say(b"more") == Reply(b"\0\0\0\x08say more")
    assert talk.say(b"ann") == Authenticated(b"\0\0\0\x07welcome", Identity("User:ann"))
    talk = Talk()
    talk.say(handshake("ONE", version=0))
    step = talk.say(b"said no")
    assert isinstance(step, Fail)
    assert step.frame is None


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_version_of_a_token_is_answered_in_its_shape(version: int) -> None:
    """SAS-09."""
    talk = Talk(max_reauth_ms=5000)
    talk.say(handshake("ONE"))
    step = talk.say(authenticate(b"more", version))
    assert isinstance(step, Reply)
    assert read_authenticate(step.frame, version).session_lifetime_ms == 0
    done = talk.say(authenticate(b"ann", version))
    assert isinstance(done, Authenticated)
    assert read_authenticate(done.frame, version).session_lifetime_ms == (5000 if version else 0)


def test_a_failure_says_what_the_client_may_know() -> None:
    """SAS-12: the mechanism's own words, or the same for every cause."""
    generic = "Authentication failed during authentication due to invalid credentials with SASL mechanism ONE"
    for token, words in ((b"said no", "words for the client"), (b"a b c", generic)):
        talk = Talk()
        step = talk.log_in(token)
        assert isinstance(step, Fail)
        assert step.frame is not None
        found = read_authenticate(step.frame)
        assert (found.error_code, found.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, words)
        assert (found.auth_bytes, found.session_lifetime_ms) == (b"", 0)
        assert not talk.session.is_complete


def test_a_handshake_of_an_authenticated_client_is_a_request_like_others() -> None:
    """SAS-13: where sessions do not end, the node answers that it is out of turn."""
    talk = Talk()
    talk.log_in()
    assert talk.say(handshake("ONE")) == Pass()
    assert talk.say(authenticate(b"bob")) == Pass()
    assert talk.session.identity == Identity("User:ann")


@pytest.mark.parametrize(
    ("token", "most", "lifetime"),
    [(b"ann", 0, 0), (b"ann", 500, 500), (b"ann until 1000700", 0, 700), (b"ann until 1000700", 500, 500),
     (b"ann until 1000300", 500, 300), (b"ann until 999999", 500, 0)],
)  # fmt: skip
def test_a_session_lasts_as_long_as_the_credential_and_the_listener_allow(
    token: bytes, most: int, lifetime: int
) -> None:
    """SAS-34: all cases, said with the last answer only. SAS-35: after it the next request ends it, silently."""
    talk = Talk(max_reauth_ms=most)
    talk.say(handshake("ONE"))
    first = talk.say(authenticate(b"more"))
    assert isinstance(first, Reply)
    assert read_authenticate(first.frame).session_lifetime_ms == 0
    done = talk.say(authenticate(token))
    assert isinstance(done, Authenticated)
    assert read_authenticate(done.frame).session_lifetime_ms == lifetime
    assert talk.say(METADATA) == Pass()
    talk.now += lifetime / 1000 + 0.001
    ends = most > 0 or b"until" in token
    assert isinstance(talk.say(METADATA), Close if ends else Pass)
    if ends:
        assert isinstance(talk.say(handshake("ONE")), Reply)
        assert isinstance(talk.say(authenticate(b"ann")), Authenticated)
        assert talk.say(METADATA) == Pass()


def test_a_client_may_authenticate_again_as_the_same_by_the_same_way() -> None:
    """SAS-36, ATK-19: another principal is refused in words, another mechanism ends it; within a second it
    is not begun.
    """
    talk = Talk(max_reauth_ms=60_000)
    talk.log_in()
    talk.now += 5
    assert isinstance(talk.log_in(), Authenticated)
    talk.now += 0.9
    assert talk.say(handshake("ONE")) == Pass()
    talk.now += 0.2
    step = talk.log_in(b"bob")
    assert isinstance(step, Fail)
    assert step.frame is not None
    words = "Cannot change principals during re-authentication from User.ann: User.bob"
    assert read_authenticate(step.frame).error_message == words

    talk = Talk(max_reauth_ms=60_000)
    talk.log_in()
    talk.now += 5
    assert isinstance(talk.say(handshake("TWO")), Reply)
    assert talk.say(authenticate(b"ann")) == Fail("the mechanism changed in a re-authentication")

    talk = Talk(max_reauth_ms=60_000)
    talk.log_in()
    talk.now += 5
    step = talk.log_in(b"a b c")
    assert isinstance(step, Fail)
    assert step.frame is not None
    generic = "Authentication failed during re-authentication due to invalid credentials with SASL mechanism ONE"
    assert read_authenticate(step.frame).error_message == generic


class Never(Says):
    """Lets nobody in."""

    def on_token(self, token: bytes) -> Challenge | Accepted:
        if token == b"more":
            return Challenge(b"say more")
        raise Refused("why")


def test_whatever_comes_nobody_is_let_in_by_anything_but_the_mechanism() -> None:
    """ATK-20 in small: right frames, cut, changed and out of order; nothing but ApiVersions gets past."""
    dice = random.Random(run_seed())
    right = [versions(), handshake("ONE"), handshake("ONE", 0), authenticate(b"more"), METADATA, b"more", b""]
    for _ in range(300):
        session = Session({"ONE": Never}, {})
        for _ in range(6):
            frame = bytearray(dice.choice(right))
            if frame and dice.random() < 0.5:
                frame[dice.randrange(len(frame))] = dice.randrange(256)
            if dice.random() < 0.2:
                frame = frame[: dice.randrange(len(frame) + 1)]
            step = session.on_frame(bytes(frame), Instant(0.0), WALL)
            assert not isinstance(step, Authenticated)
            if isinstance(step, Fail | Close):
                break
            assert not isinstance(step, Pass) or frame[:2] == (18).to_bytes(2, "big"), bytes(frame)


def test_a_frame_without_length_is_what_a_session_reads() -> None:
    assert encode_request(MetadataRequest(), 12, 5, "tester")[4:] == METADATA
