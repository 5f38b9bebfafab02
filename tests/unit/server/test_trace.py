"""What the debug log shows of requests, answers and records: never a secret (SEC-02; ATK-10, CVE-2026-33558)."""

from __future__ import annotations

from random import Random

import pytest

from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_delegation_token_response import CreateDelegationTokenResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.schema import Message
from controller_runtime.server.telemetry.trace import render_effect, render_event
from support.sampling import run_seed

pytestmark = pytest.mark.unit

CANARY = "c4nary"


def traced(body: Message) -> str:
    """As a request, and as an answer."""
    assert body.KEY is not None
    info = ConnectionInfo(ConnectionId(1), "CLIENTS")
    request = RequestReceived(RequestId(1), info, body.KEY, 0, "me", body)
    return render_event(request) + render_effect(Respond(RequestId(1), body))


def altered(name: str, value: str) -> IncrementalAlterConfigsRequest:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    return IncrementalAlterConfigsRequest(
        resources=(AlterConfigsResource(resource_type=4, resource_name="1", configs=(config,)),), validate_only=False
    )


def test_of_bytes_the_number_is_shown() -> None:
    salted = ScramCredentialUpsertion(
        name="ann", mechanism=1, iterations=4096, salt=CANARY.encode(), salted_password=CANARY.encode() * 5
    )
    shown = traced(AlterUserScramCredentialsRequest(deletions=(), upsertions=(salted,)))
    assert CANARY not in shown
    assert "salt=<6 bytes>, salted_password=<30 bytes>" in shown
    assert "name='ann'" in shown
    assert "hmac=<6 bytes>" in traced(CreateDelegationTokenResponse(hmac=CANARY.encode()))


@pytest.mark.parametrize(
    ("name", "hidden"),
    [("listener.name.x.ssl.keystore.password", True), ("sasl.jaas.config", True), ("no.such.name", True),
     ("max.connections", False), ("retention.ms", False), ("listener.name.x.ssl.keystore.location", False)],
)  # fmt: skip
def test_values_of_secrets_and_of_names_that_nobody_knows_are_hidden(name: str, hidden: bool) -> None:
    for body in (altered(name, CANARY), ConfigRecord(resource_type=4, resource_name="1", name=name, value=CANARY)):
        shown = traced(body)
        assert name in shown
        assert (CANARY not in shown) is hidden


def test_whoever_chooses_names_does_not_choose_what_is_hidden() -> None:
    """Quotes, escapes and looks of literals in a client's own words move nothing out of its place."""
    rng = Random(run_seed())
    for _ in range(300):
        words = "".join(rng.choice("b'\"\\ =\nname=value=x,()") for _ in range(rng.randrange(12)))
        secret = "".join(rng.choice("b'\"\\ =\n") for _ in range(4)) + CANARY
        assert CANARY not in traced(altered(f"{words}.password", secret)), (words, secret)
        made = CreateDelegationTokenResponse(principal_name=words, token_id=words, hmac=secret.encode())
        assert CANARY not in traced(made), (words, secret)
