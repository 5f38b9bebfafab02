"""`quorate.insecure`: a controller's listener in the clear is loopback's, or somebody has said that he means it."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from controller_runtime.cli import server_start
from controller_runtime.configuration.config import ConfigError, from_properties
from controller_runtime.configuration.insecure import is_loopback, refusals
from controller_runtime.configuration.properties import parse_properties

pytestmark = pytest.mark.unit

CONTROLLER = """process.roles=controller
node.id=1
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:{protocol}
listeners=CONTROLLER://{host}:9093
log.dirs=/data/c1
"""
BROKER = """process.roles=broker
node.id=11
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://:9092
advertised.listeners=PLAINTEXT://b1:9092
log.dirs=/data/b1
"""
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SASL = f"""sasl.mechanism.controller.protocol=PLAIN
listener.name.controller.sasl.enabled.mechanisms=PLAIN
listener.name.controller.plain.sasl.jaas.config={PLAIN} username="n" password="p" user_n="p";
"""


def refused(text: str, **environment: str) -> tuple[str, ...]:
    config = from_properties(parse_properties(text, "server.properties"), "server.properties", environment)
    return refusals(config, environment)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "[::]", "10.1.2.3", "c1.kafka.svc", "127.0.0.1.example"])
def test_a_controller_in_the_clear_for_others_does_not_start(host: str) -> None:
    (line,) = refused(CONTROLLER.format(protocol="PLAINTEXT", host=f"[{host}]" if host == "::" else host))
    assert line.startswith("server.properties:6: CONTROLLER://")
    assert "quorate.insecure=true" in line


def test_one_that_says_who_comes_but_hides_nothing_does_not_start_either() -> None:
    (line,) = refused(CONTROLLER.format(protocol="SASL_PLAINTEXT", host="") + SASL)
    assert "as SASL_PLAINTEXT" in line


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "[::1]"])
def test_on_loopback_nothing_has_to_be_said(host: str) -> None:
    assert refused(CONTROLLER.format(protocol="PLAINTEXT", host=host)) == ()


def test_it_is_said_in_the_file_or_in_the_environment_and_the_file_wins() -> None:
    clear = CONTROLLER.format(protocol="PLAINTEXT", host="")
    assert refused(clear + "quorate.insecure=true\n") == refused(clear, QUORATE_INSECURE="true") == ()
    assert refused(clear + "quorate.insecure=false\n", QUORATE_INSECURE="true") != ()
    assert refused(clear, QUORATE_INSECURE="false") != ()
    assert "true or false is needed" in refused(clear + "quorate.insecure=yes\n")[0]
    assert "QUORATE_INSECURE: Invalid value 1" in refused(clear, QUORATE_INSECURE="1")[0]


def test_a_broker_that_connects_to_controllers_in_the_clear_starts() -> None:
    """What they let others read is theirs to say."""
    assert refused(BROKER) == ()


def test_names_that_resolve_to_loopback_today_are_none() -> None:
    assert not is_loopback("localhost.localdomain")
    assert not is_loopback("localhost6")
    assert is_loopback("LOCALHOST")


def test_the_node_says_it_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text(CONTROLLER.format(protocol="PLAINTEXT", host="0.0.0.0"))
    assert server_start.main([str(file)]) == 1
    said = capsys.readouterr().err
    assert "readable for whoever is on the way" in said
    assert "quorate.insecure=true" in said
    assert gc.isenabled(), "collections stand still while modules are imported, no longer"


UNSECURED = "org.apache.kafka.common.security.oauthbearer.internals.unsecured"
CLIENTS = f"""listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT
listener.name.clients.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.clients.oauthbearer.sasl.jaas.config={UNSECURED[:-19]}OAuthBearerLoginModule required;
listener.name.clients.oauthbearer.sasl.server.callback.handler.class={UNSECURED}.OAuthBearerUnsecuredValidatorCallbackHandler
"""


def test_tokens_that_nobody_has_signed_are_believed_only_by_name_and_when_it_is_said() -> None:
    """SAS-33"""
    text = BROKER.replace("PLAINTEXT://:9092\nadv", "PLAINTEXT://:9092,CLIENTS://:9094\nadv") + CLIENTS
    (line,) = refused(text)
    assert "listener CLIENTS would believe tokens that nobody has signed" in line
    assert line.startswith("server.properties:11: ")
    assert refused(text + "quorate.insecure=true\n") == ()
    unnamed = "\n".join(each for each in text.splitlines() if "callback.handler" not in each)
    with pytest.raises(ConfigError, match="which believes everybody"):
        refused(unnamed + "\nquorate.insecure=true\n")
