"""What a properties file says of SASL: per listener and mechanism, and what stops the start."""

from __future__ import annotations

import pytest

from controller_runtime.configuration.config import ConfigError, ServerConfig, from_properties
from controller_runtime.configuration.properties import parse_properties
from controller_runtime.configuration.settings import refusal_at_run_time
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.sasl_settings import ClientLogin, SaslSettings

pytestmark = pytest.mark.unit

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
BROKER = f"""process.roles=broker
node.id=11
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,Clients:SASL_PLAINTEXT
listeners=PLAINTEXT://127.0.0.1:9092,CLIENTS://127.0.0.1:9094
log.dirs=/data
sasl.enabled.mechanisms=PLAIN
listener.name.clients.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.clients.plain.sasl.jaas.config={PLAIN} username="us" password="hunter2" user_ann="s3cret";
listener.name.clients.scram-sha-512.sasl.jaas.config={SCRAM};
"""
CONTROLLER = f"""process.roles=controller
node.id=1
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT
listeners=CONTROLLER://127.0.0.1:9093
log.dirs=/data
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.controller.protocol=PLAIN
listener.name.controller.plain.sasl.jaas.config={PLAIN} username="us" password="hunter2" user_us="hunter2";
"""


def read(text: str) -> ServerConfig:
    return from_properties(parse_properties(text, "server.properties"), "server.properties", {})


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read(text)
    (only,) = refused.value.problems
    assert "hunter2" not in only
    assert "s3cret" not in only
    return only


def test_a_listener_has_its_own_mechanisms_and_users() -> None:
    """SAS-41: what is said for listener and mechanism counts, an unprefixed module is none, and said to be so."""
    config = read(BROKER + f'sasl.jaas.config={PLAIN} user_bob="x";\n')
    security = config.listener_security["CLIENTS"]
    assert security.protocol is SecurityProtocol.SASL_PLAINTEXT
    assert security.sasl == SaslSettings(("PLAIN", "SCRAM-SHA-512"), {"ann": "s3cret"})
    assert security.login is None
    assert config.listener_security["PLAINTEXT"].sasl is None
    (notice,) = config.notices
    assert "sasl.jaas.config is ignored: a login module is one listener's and mechanism's" in notice
    assert "s3cret" not in repr(config)
    assert "hunter2" not in repr(security)


def test_bounds_and_times_of_a_listener() -> None:
    """SAS-38: sessions end per mechanism, per listener, or for all."""
    more = """connections.max.reauth.ms=1000
listener.name.clients.scram-sha-512.connections.max.reauth.ms=2000
listener.name.clients.sasl.server.max.receive.size=1024
connection.failed.authentication.delay.ms=250
"""
    found = read(BROKER + more).listener_security["CLIENTS"].sasl
    assert found is not None
    assert (found.max_reauth_ms, found.max_receive_bytes, found.failure_delay_seconds) == (
        {"PLAIN": 1000, "SCRAM-SHA-512": 2000},
        1024,
        0.25,
    )
    found = (
        read(BROKER + more + "listener.name.clients.connections.max.reauth.ms=0\n").listener_security["CLIENTS"].sasl
    )
    assert found is not None
    assert found.max_reauth_ms == {"SCRAM-SHA-512": 2000}


def test_controllers_come_to_each_other_as_somebody() -> None:
    found = read(CONTROLLER).listener_security["CONTROLLER"]
    assert found.login == ClientLogin("PLAIN", "us", "hunter2")
    assert found.sasl == SaslSettings(("PLAIN",), {"us": "hunter2"})


def test_brokers_come_to_controllers_by_scram() -> None:
    """SAS-44's half: they may, their users are in a log that the quorum has."""
    text = BROKER.replace("CONTROLLER:PLAINTEXT", "CONTROLLER:SASL_PLAINTEXT") + (
        "sasl.mechanism.controller.protocol=SCRAM-SHA-512\n"
        f'listener.name.controller.scram-sha-512.sasl.jaas.config={SCRAM} username="b" password="p";\n'
    )
    security = read(text).listener_security["CONTROLLER"]
    assert (security.login, security.sasl) == (ClientLogin("SCRAM-SHA-512", "b", "p"), None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BROKER.replace("PLAIN,SCRAM-SHA-512", "PLAIN,GSSAPI"), "SASL mechanism GSSAPI is not supported"),
        (BROKER.replace("PLAIN,SCRAM-SHA-512", "plain"), "SASL mechanism plain is not supported"),
        (BROKER.replace("PLAIN,SCRAM-SHA-512", "PLAIN,SCRAM-SHA-256"), "set it: listener CLIENTS has no login module"),
        (BROKER.replace("PLAIN,SCRAM-SHA-512", ""), "no mechanism is enabled"),
        (BROKER.replace('user_ann="s3cret";', 'user_ann="s3cret"'), "not terminated by semi-colon"),
        (BROKER.replace(SCRAM, PLAIN), "SCRAM-SHA-512 needs org.apache.kafka.common.security.scram.ScramLoginModule"),
        (BROKER.replace(SCRAM, "com.sun.security.auth.module.JndiLoginModule required"), "is not accepted"),
        (BROKER + "listener.name.clients.sasl.jaas.config=x\n", "would not be in force"),
        (BROKER + "listener.name.clients.gssapi.sasl.jaas.config=x\n", "would not be in force"),
        (BROKER + "listener.name.clients.sasl.server.max.receive.size=x\n", "Not a number of type INT"),
        (BROKER + "connections.max.idle.ms=100\n", "should be less than connections.max.idle.ms"),
        (BROKER + "inter.broker.listener.name=CLIENTS\n", "sasl.mechanism.inter.broker.protocol: must be included in"),
        (CONTROLLER.replace("username=", "name="), "a client needs username and password"),
        (CONTROLLER.replace("sasl.mechanism.controller.protocol=PLAIN\n", ""), "mechanism GSSAPI is not supported"),
        (
            CONTROLLER.replace("controller.protocol=PLAIN", "controller.protocol=SCRAM-SHA-512")
            + f'listener.name.controller.scram-sha-512.sasl.jaas.config={SCRAM} username="b" password="p";\n',
            "choose PLAIN or mTLS",
        ),
    ],
)
def test_what_does_not_hold_stops_the_start(text: str, words: str) -> None:
    """SAS-40, SAS-42, and SAS-43: SCRAM is no controller's own mechanism."""
    assert words in problem(text)


@pytest.mark.parametrize(
    "name",
    ["listener.name.clients.plain.sasl.jaas.config", "sasl.jaas.config", "sasl.enabled.mechanisms",
     "listener.name.clients.scram-sha-512.sasl.jaas.config", "listener.name.clients.connections.max.reauth.ms",
     "sasl.client.callback.handler.class", "listener.name.clients.plain.sasl.server.callback.handler.class"],
)  # fmt: skip
def test_nobody_changes_logins_over_the_wire(name: str) -> None:
    """ATK-07 (CVE-2023-25194, CVE-2025-27818): no login module comes by a request, and none into the log."""
    assert refusal_at_run_time(name, "com.sun.security.auth.module.JndiLoginModule required;") is not None
