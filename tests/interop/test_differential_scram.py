"""AlterUserScramCredentials and DescribeUserScramCredentials, as Apache Kafka answers them."""

from __future__ import annotations

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from support.apache_kafka.differential import Case, Pair, Table, judge

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
SHA_256, SHA_512 = 1, 2


def _set(
    name: str, mechanism: int = SHA_256, iterations: int = 4096, salt: bytes = b"salt", password: bytes = b"salted"
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=password
    )


def _delete(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def _alter(*changes: ScramCredentialUpsertion | ScramCredentialDeletion) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=tuple(one for one in changes if isinstance(one, ScramCredentialDeletion)),
        upsertions=tuple(one for one in changes if isinstance(one, ScramCredentialUpsertion)),
    )


ALTER = Table(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    BOTH,
    (
        Case("nothing", _alter()),
        Case("a user", _alter(_set("ann"))),
        Case("the other mechanism", _alter(_set("ann", SHA_512, 16384))),
        Case("again, stronger", _alter(_set("ann", SHA_256, 8192))),
        Case("two users", _alter(_set("bob"), _set("größe=1,2", SHA_512))),
        Case("a user twice", _alter(_set("eve"), _set("eve"))),
        Case("a user twice, for two mechanisms", _alter(_set("eve"), _set("eve", SHA_512))),
        Case("a user three times", _alter(*3 * (_set("eve"),))),
        Case("a user twice, and another", _alter(_set("eve"), _set("eve", SHA_512), _set("dan"))),
        Case("set and deleted", _alter(_set("ann"), _delete("ann"))),
        Case("set and deleted, of two mechanisms", _alter(_set("ann", SHA_512), _delete("ann"))),
        Case("a bad one, and deleted", _alter(_set("ann", 9), _delete("ann"))),
        Case("deleted what is not there, and set", _alter(_set("eve"), _delete("eve"))),
        Case("deleted what is not there", _alter(_delete("eve"))),
        Case("deleted of the other mechanism", _alter(_delete("bob", SHA_512))),
        Case("deleted twice", _alter(_delete("bob"), _delete("bob"))),
        Case("deleted twice, of two mechanisms", _alter(_delete("bob"), _delete("bob", SHA_512))),
        Case("deleted twice what is not there", _alter(_delete("eve"), _delete("eve"))),
        Case("nobody", _alter(_set(""))),
        Case("nobody, twice", _alter(_set(""), _set(""))),
        Case("nobody, by an unknown mechanism", _alter(_set("", 9, 1))),
        Case("deleted nobody", _alter(_delete(""))),
        Case("an unknown mechanism", _alter(_set("eve", 3))),
        Case("no mechanism", _alter(_set("eve", 0))),
        Case("mechanism -1", _alter(_set("eve", -1, 1))),
        Case("deleted of an unknown mechanism", _alter(_delete("ann", 3))),
        *(
            Case(f"{count} iterations", _alter(_set("eve", SHA_512, count)))
            for count in (4095, 0, -1, 16385, 2**31 - 1)
        ),
        Case("one of two too weak", _alter(_set("eve", SHA_256, 1), _set("fay"))),
        Case("no salt", _alter(_set("gil", salt=b""))),
        Case("no password", _alter(_set("hal", password=b""))),
        Case("a long password", _alter(_set("ida", password=b"p" * 5000, salt=b"s" * 5000))),
        Case("the longest name", _alter(_set("n" * 32767, 9))),
    ),
)


def _describe(*names: str, every: bool = False) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest(users=None if every else tuple(UserName(name=name) for name in names))


DESCRIBE = Table(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    (ListenerType.BROKER,),
    (
        Case("all", _describe(every=True)),
        Case("all, by an empty list", _describe()),
        Case("one", _describe("ann")),
        Case("two", _describe("ann", "bob")),
        Case("a strange name", _describe("größe=1,2")),
        Case("unknown", _describe("eve")),
        Case("known and unknown", _describe("ann", "eve")),
        Case("one twice", _describe("ann", "ann")),
        Case("one three times, and another", _describe("ann", "bob", "ann", "ann")),
        Case("unknown twice", _describe("eve", "eve")),
        Case("nobody", _describe("")),
        Case("nobody twice", _describe("", "")),
    ),
)

ASKED_OF_A_CONTROLLER = Table(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    (ListenerType.CONTROLLER,),
    tuple(case for case in DESCRIBE.cases if case.name != "all"),
)
"""Without all by null: a controller of Apache Kafka never answers it."""


@pytest.mark.parametrize("table", [ALTER, DESCRIBE, ASKED_OF_A_CONTROLLER], ids=lambda table: table.key.name)
def test_scram_credentials_are_changed_and_told_as_kafka_does(pair: Pair, table: Table) -> None:
    """TOK-13, TOK-14. CFG-07: what is described was set here before."""
    assert judge(pair, table) >= 15
