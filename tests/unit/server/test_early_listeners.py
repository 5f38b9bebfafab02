"""SEC-11: `early.start.listeners` names listeners that there are; unless it is set, the controllers' are meant."""

from __future__ import annotations

import pytest

from controller_runtime.configuration.config import ConfigError, ServerConfig, from_properties
from controller_runtime.configuration.properties import parse_properties

pytestmark = pytest.mark.unit

BROKER = """process.roles=broker
node.id=11
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:9092
log.dirs=/data
"""


def read(line: str = "") -> ServerConfig:
    return from_properties(parse_properties(BROKER + line, "server.properties"), "server.properties", {})


@pytest.mark.parametrize(
    ("line", "early"),
    [
        ("", {"CONTROLLER"}),
        ("early.start.listeners=", set()),
        ("early.start.listeners=plaintext, CONTROLLER", {"PLAINTEXT", "CONTROLLER"}),
    ],
)
def test_which_listeners_open_before_the_acls_are_known(line: str, early: set[str]) -> None:
    assert read(line).early_listeners == early


def test_a_listener_that_there_is_not_stops_the_start() -> None:
    with pytest.raises(ConfigError, match="OTHER is not contained in listeners or controller"):
        read("early.start.listeners=OTHER")
