"""`replica.selector.class`: by name one of the two that Kafka has; no other class can be loaded."""

from __future__ import annotations

import pytest

from controller_runtime.configuration.config import ConfigError, from_properties
from controller_runtime.configuration.properties import parse_properties
from controller_runtime.configuration.replica_selectors import RACK_AWARE, SELECTOR, SELECTORS

pytestmark = pytest.mark.unit

BROKER = """process.roles=broker
node.id=11
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:9092
log.dirs=/data/b1
"""


def read(text: str) -> str | None:
    config = from_properties(parse_properties(BROKER + text, "server.properties"), "server.properties")
    return config.settings.text(SELECTOR)


@pytest.mark.parametrize("name", SELECTORS)
def test_kafkas_own_are_known_by_name(name: str) -> None:
    assert read(f"{SELECTOR}={name}\n") == name


def test_there_need_be_none() -> None:
    assert not read("")


@pytest.mark.parametrize("name", ["com.example.Nearest", RACK_AWARE.lower(), RACK_AWARE.rpartition(".")[2]])
def test_another_class_stops_the_start(name: str) -> None:
    with pytest.raises(ConfigError, match="there is no other class to load"):
        read(f"{SELECTOR}={name}\n")
