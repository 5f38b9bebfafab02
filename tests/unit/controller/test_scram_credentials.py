"""SCRAM credentials as records (CFG-07): what `tests/interop/test_differential_scram.py` cannot see on the wire."""

from __future__ import annotations

import hmac
from base64 import b64decode
from hashlib import sha256

import pytest

from controller_runtime.metadata.features import SCRAM
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.scram import BY_NUMBER
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResponse
from controller_runtime.security.scram_keys import salted_password
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")


def upsert(name: str = "user", mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    salted = salted_password(BY_NUMBER[1].algorithm, b"pencil", SALT, 4096)
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=SALT, salted_password=salted
    )


def alter(world: World, *upserts: ScramCredentialUpsertion, delete: tuple[str, ...] = ()) -> dict[str, int]:
    deletions = tuple(ScramCredentialDeletion(name=name, mechanism=1) for name in delete)
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upserts)
    return {each.user: each.error_code for each in world.ask(request, AlterUserScramCredentialsResponse).results}


def test_the_keys_in_the_log_verify_the_exchange_of_rfc_7677() -> None:
    """CFG-07: its example, whose proof and signature are not ours."""
    world = World()
    assert alter(world, upsert()) == {"user": 0}
    found = world.image.scram[(1, "user")]
    assert (found.salt, found.iterations) == (SALT, 4096)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}".encode()
    proof = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    signature = hmac.digest(found.stored_key, said, "sha256")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert sha256(client_key).digest() == found.stored_key
    assert hmac.digest(found.server_key, said, "sha256") == b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_the_salted_password_is_nowhere_in_the_log() -> None:
    world = World()
    alter(world, upsert())
    (record, version) = world.log[-1]
    assert SALT in encode_record(record, version)
    assert upsert().salted_password not in encode_record(record, version)


@pytest.mark.parametrize(("level", "code"), [(SCRAM - 1, 35), (SCRAM, 0)])
def test_they_need_a_metadata_version_that_has_them(level: int, code: int) -> None:
    world = World(level=level)
    assert alter(world, upsert()) == {"user": code}
    assert len(world.image.scram) == (code == 0)


def test_who_is_named_twice_keeps_what_he_has_and_others_get_theirs() -> None:
    """CFG-07: for two mechanisms, too."""
    world = World()
    alter(world, upsert("ann"), upsert("bob"))
    before = world.image.scram
    assert alter(world, upsert("ann", iterations=8192), upsert("eve"), delete=("ann", "bob")) == {
        "bob": 0,
        "eve": 0,
        "ann": 92,
    }
    assert set(world.image.scram) == {(1, "ann"), (1, "eve")}
    assert world.image.scram[(1, "ann")] == before[(1, "ann")]


def test_an_old_metadata_version_is_told_before_anything_of_the_credential() -> None:
    assert alter(World(level=SCRAM - 1), upsert("", mechanism=9, iterations=1), delete=("nobody",)) == {
        "": 35,
        "nobody": 35,
    }


@pytest.mark.parametrize(("iterations", "code"), [(4095, 93), (4096, 0), (16384, 0), (16385, 93)])
def test_iterations_are_neither_too_few_nor_too_many(iterations: int, code: int) -> None:
    """CFG-07."""
    world = World()
    assert alter(world, upsert(iterations=iterations)) == {"user": code}
    assert ((1, "user") in world.image.scram) == (code == 0)


def test_only_credentials_that_there_are_can_be_removed_and_none_is_altered_twice() -> None:
    """CFG-07: an unknown user, a mechanism that he has none of, one that there is not."""
    world = World()
    assert alter(world, upsert("ann", mechanism=2)) == {"ann": 0}
    assert alter(world, delete=("ann", "bob")) == {"ann": 91, "bob": 91}
    assert alter(world, upsert("eve", mechanism=3)) == {"eve": 33}
    assert alter(world, upsert("ann"), upsert("ann", mechanism=2)) == {"ann": 92}
    assert set(world.image.scram) == {(2, "ann")}
