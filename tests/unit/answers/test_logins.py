"""Who may log in by SCRAM is what the image says at that moment, and nobody learns from it who else there is."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from controller_runtime.answers.logins import Logins
from controller_runtime.identifiers import WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.scram import BY_NAME
from controller_runtime.metadata.security import DelegationToken, ScramCredential
from controller_runtime.security.sasl.server import NotYet
from controller_runtime.security.scram_keys import ScramKeys, keys_of
from controller_runtime.values import replace

pytestmark = pytest.mark.unit

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
SECRET = b"of the cluster"
NOW = WallClock(1_000_000)


def credential(name: str, iterations: int = 8192) -> ScramCredential:
    keys = keys_of("sha256", name.encode(), b"salt of " + name.encode(), iterations)
    return ScramCredential(keys.salt, keys.stored_key, keys.server_key, iterations)


def image(*names: str, tokens: tuple[DelegationToken, ...] = ()) -> MetadataImage:
    scram = {(BY_NAME[SHA_256].number, name): credential(name) for name in names}
    return replace(MetadataImage.empty(), scram=scram, delegation_tokens={one.token_id: one for one in tokens})


def logins(found: MetadataImage | None, *, secret: bytes | None = None, chance: bytes = b"one node") -> Logins:
    return Logins(lambda: found, lambda: NOW, secret, chance)


def salt_of(found: Logins, name: str) -> bytes:
    return found.decoy(SHA_256, name).salt


def test_users_are_those_of_the_image_by_mechanism() -> None:
    found = logins(image("ann"))
    known = found.user(SHA_256, "ann")
    assert known is not None
    assert (known.keys.salt, known.identity.principal) == (b"salt of ann", "User:ann")
    assert (found.user(SHA_512, "ann"), found.user(SHA_256, "bob")) == (None, None)


def test_before_the_image_is_known_nobody_is_said_not_to_exist() -> None:
    """The connection is closed without an answer, and the client tries again."""
    found = logins(None)
    for ask in (found.user, found.token, found.decoy):
        with pytest.raises(NotYet):
            ask(SHA_256, "ann")


def test_every_node_gives_a_stranger_the_same_salt_and_another_stranger_another() -> None:
    found = image("ann", "bob")
    one, other = logins(found), logins(found, chance=b"another node")
    assert salt_of(one, "eve") == salt_of(other, "eve") != salt_of(one, "mallory")
    decoy = one.decoy(SHA_256, "eve")
    assert (decoy.iterations, len(decoy.salt)) == (8192, len(b"salt of ann")), "as most users have"
    assert decoy.stored_key != other.decoy(SHA_256, "eve").stored_key, "no proof fits"


def test_no_user_can_tell_a_strangers_salt_from_his_own_keys() -> None:
    """Attack: whoever knows his own server key computes the salts of all who do not exist."""
    assert salt_of(logins(image("ann", "bob")), "eve") != salt_of(logins(image("ann", "carl")), "eve")
    assert salt_of(logins(image("ann")), "eve") != salt_of(logins(image("ann"), secret=SECRET), "eve")


def test_a_token_logs_in_with_its_hmac_until_its_time_is_over() -> None:
    token = DelegationToken("t1", "User:ann", "User:ann", (), 0, NOW + 10, NOW + 1)
    over = replace(token, token_id="t2", expiration_timestamp=NOW)
    found = logins(image(tokens=(token, over)), secret=SECRET)
    known = found.token(SHA_512, "t1")
    assert known is not None
    assert (known.identity.principal, known.identity.token_authenticated) == ("User:ann", True)
    assert known.identity.expires_at_ms == NOW + 1
    password = base64.b64encode(hmac.digest(SECRET, b"t1", hashlib.sha512))
    expected: ScramKeys = keys_of("sha512", password, known.keys.salt, known.keys.iterations)
    assert known.keys.stored_key == expected.stored_key
    assert found.token(SHA_512, "t2") is None
    assert logins(image(tokens=(token,))).token(SHA_512, "t1") is None, "tokens are not enabled here"
