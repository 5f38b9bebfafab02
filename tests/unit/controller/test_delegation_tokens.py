"""Delegation tokens as records (CFG-07): what `tests/interop/test_differential_tokens.py` cannot see on the wire."""

from __future__ import annotations

import hmac

import pytest

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.controller.own_work import MAX_SWEPT
from controller_runtime.identifiers import WallClock
from controller_runtime.metadata.features import DELEGATION_TOKENS
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.create_delegation_token_request import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from controller_runtime.protocol.messages.create_delegation_token_response import CreateDelegationTokenResponse
from controller_runtime.protocol.messages.expire_delegation_token_request import ExpireDelegationTokenRequest
from controller_runtime.protocol.messages.expire_delegation_token_response import ExpireDelegationTokenResponse
from controller_runtime.protocol.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from controller_runtime.protocol.messages.renew_delegation_token_response import RenewDelegationTokenResponse
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

SECRET = b"of the whole cluster"
MINUTE = 60_000
NOW = 1_800_000_000_000


def world_of_tokens(level: int = 30, **rules: object) -> World:
    rules = {"token_secret": SECRET, "token_max_lifetime_ms": 10 * MINUTE, "token_expiry_ms": 2 * MINUTE} | rules
    world = World(level=level, security=SecurityRules(**rules))  # type: ignore[arg-type]
    world.wall = WallClock(NOW)
    return world


def create(world: World, who: str = "User:ann", **fields: object) -> CreateDelegationTokenResponse:
    request = CreateDelegationTokenRequest(**({"max_lifetime_ms": -1} | fields))  # type: ignore[arg-type]
    return world.ask(request, CreateDelegationTokenResponse, principal=who, forwarded=True)


def renew(world: World, token: bytes, period_ms: int = -1, who: str = "User:ann") -> tuple[int, int]:
    request = RenewDelegationTokenRequest(hmac=token, renew_period_ms=period_ms)
    answer = world.ask(request, RenewDelegationTokenResponse, principal=who, forwarded=True)
    return answer.error_code, answer.expiry_timestamp_ms


def expire(world: World, token: bytes, period_ms: int = -1, who: str = "User:ann") -> tuple[int, int]:
    request = ExpireDelegationTokenRequest(hmac=token, expiry_time_period_ms=period_ms)
    answer = world.ask(request, ExpireDelegationTokenResponse, principal=who, forwarded=True)
    return answer.error_code, answer.expiry_timestamp_ms


def test_the_log_has_the_token_and_never_its_hmac() -> None:
    """TOK-01's other half: the HMAC is that of the id under the secret, which every node can make."""
    world = world_of_tokens()
    made = create(world)
    assert made.hmac == hmac.digest(SECRET, made.token_id.encode(), "sha512")
    assert list(world.image.delegation_tokens) == [made.token_id]
    record, version = world.log[-1]
    assert made.hmac not in encode_record(record, version)
    builder = MetadataImage.empty().builder()
    for each, _ in snapshot_records(world.image):
        replay(builder, each)
    assert builder.freeze().delegation_tokens == world.image.delegation_tokens


def test_no_renewal_goes_beyond_the_end_of_its_life() -> None:
    """CFG-07."""
    world = world_of_tokens()
    token = create(world).hmac
    world.wall = WallClock(NOW + MINUTE)
    assert renew(world, token) == (0, NOW + 3 * MINUTE)
    for minute in (3, 5, 7):
        world.wall = WallClock(NOW + minute * MINUTE)
        assert renew(world, token) == (0, NOW + (minute + 2) * MINUTE)
    world.wall = WallClock(NOW + 9 * MINUTE)
    assert renew(world, token, 100 * MINUTE) == (0, NOW + 10 * MINUTE)
    assert expire(world, token, 2**63 - 1) == (0, NOW + 10 * MINUTE)
    world.wall = WallClock(NOW + 10 * MINUTE)
    assert renew(world, token) == (0, NOW + 10 * MINUTE)
    world.wall = WallClock(NOW + 10 * MINUTE + 1)
    assert renew(world, token) == (66, 0)


def test_a_token_is_over_a_moment_after_its_end_and_can_only_be_removed() -> None:
    """CFG-07: 66, but for a negative period."""
    world = world_of_tokens()
    token = create(world).hmac
    world.wall = WallClock(NOW + 2 * MINUTE)
    assert renew(world, token, 1) == (0, NOW + 2 * MINUTE + 1)
    world.wall = WallClock(NOW + 2 * MINUTE + 2)
    assert renew(world, token) == (66, 0)
    assert renew(world, token, who="User:eve") == (66, 0)
    assert expire(world, token, 5) == (66, 0)
    assert expire(world, token, 5, who="User:eve") == (63, 0)
    assert expire(world, token) == (0, world.wall)
    assert expire(world, token) == (62, 0)
    assert world.image.delegation_tokens == {}


@pytest.mark.parametrize(("level", "code"), [(DELEGATION_TOKENS - 1, 35), (DELEGATION_TOKENS, 0)])
def test_they_need_a_metadata_version_that_has_them(level: int, code: int) -> None:
    """TOK-12."""
    world = world_of_tokens(level=level)
    assert create(world).error_code == code
    assert renew(world, b"nobody's") == (code or 62, 0)


def test_an_owner_is_a_user() -> None:
    """TOK-06, ATK-17: no token of `Group:admin` that would log in as User:admin."""
    fields = {"owner_principal_type": "Group", "owner_principal_name": "admin"}
    assert create(world_of_tokens(), **fields).error_code == 67
    assert create(world_of_tokens(), "Group:admin").error_code == 67


def test_who_is_renewer_may_renew_and_expire() -> None:
    world = world_of_tokens()
    token = create(world, renewers=(CreatableRenewers(principal_type="User", principal_name="bob"),)).hmac
    assert renew(world, token, who="User:bob")[0] == 0
    assert expire(world, token, who="User:eve")[0] == 63
    assert expire(world, token, who="User:bob")[0] == 0


def test_what_is_over_is_removed_when_it_is_looked_for_and_the_rest_stays() -> None:
    """TOK-10."""
    world = world_of_tokens(token_check_interval_s=100.0)
    old, young = create(world), create(world)
    world.wall = WallClock(NOW + MINUTE)
    renew(world, young.hmac)
    assert [type(record).__name__ for record, _ in world.wait(99.0)] == []
    world.wall = WallClock(NOW + 2 * MINUTE + 1)
    assert [type(record).__name__ for record, _ in world.wait(2.0)] == ["RemoveDelegationTokenRecord"]
    assert list(world.image.delegation_tokens) == [young.token_id]
    assert renew(world, old.hmac)[0] == 62


def test_many_that_are_over_are_removed_in_steps_without_waiting_for_the_next_look() -> None:
    world = world_of_tokens(token_check_interval_s=100.0)
    for _ in range(MAX_SWEPT + 5):
        create(world)
    world.wall = WallClock(NOW + 3 * MINUTE)
    assert len(world.wait(100.0)) == MAX_SWEPT
    assert len(world.wait(1.0)) == 5


def test_nothing_is_removed_without_a_secret() -> None:
    """As in Kafka: such a node does not know what tokens are."""
    world = world_of_tokens(token_check_interval_s=100.0)
    create(world)
    blind = World(security=SecurityRules(token_check_interval_s=100.0))
    blind.image, blind.wall = world.image, WallClock(NOW + 60 * MINUTE)
    assert blind.wait(200.0) == []


@pytest.mark.parametrize("by_snapshot", [False, True])
def test_another_leader_knows_the_tokens_of_the_log(by_snapshot: bool) -> None:
    """TOK-11: also one that has only seen a snapshot."""
    world = world_of_tokens()
    token = create(world).hmac
    heir = world_of_tokens()
    heir.image = _from_snapshot(world.image) if by_snapshot else world.image
    assert renew(heir, token)[0] == 0


def _from_snapshot(image: MetadataImage) -> MetadataImage:
    builder = MetadataImage().builder()
    for record, _ in snapshot_records(image):
        replay(builder, record)
    return builder.freeze()


def test_hmacs_of_tokens_that_are_gone_are_forgotten() -> None:
    world = world_of_tokens()
    for _ in range(MAX_SWEPT + 10):
        expire(world, create(world).hmac)
    assert len(world.service._security.tokens._hmacs) <= MAX_SWEPT + 2
