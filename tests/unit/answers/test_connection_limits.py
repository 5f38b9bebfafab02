from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller_runtime.answers.connection_limits import connection_limits
from controller_runtime.configuration.settings import RULES
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.client_quotas import Quotas
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, ConfigsBuilder, ConfigsImage
from controller_runtime.parts.effects import LimitConnections

pytestmark = pytest.mark.unit

TOTAL, PER_IP, OVERRIDES = "max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides"
NO_LIMIT = 2**31 - 1


def limits(
    mine: Mapping[str, str] | None = None,
    of_all: Mapping[str, str] | None = None,
    file: Mapping[str, str] | None = None,
    *,
    quotas: Quotas | None = None,
) -> LimitConnections:
    builder = ConfigsBuilder(ConfigsImage())
    for resource, values in (("1", mine or {}), (ALL_BROKERS, of_all or {}), ("2", {TOTAL: "77"})):
        for name, text in values.items():
            builder.set(BROKER, resource, name, text)
    return connection_limits(builder.freeze(), quotas or {}, OwnConfigs(1, file or {}, RULES))


def test_without_a_word_there_is_no_limit() -> None:
    assert limits() == LimitConnections(NO_LIMIT, NO_LIMIT)


@pytest.mark.parametrize("name", [TOTAL, PER_IP])
def test_a_nodes_own_value_comes_before_that_of_all_and_that_before_its_files(name: str) -> None:
    def found(*places: Mapping[str, str]) -> int:
        said = limits(*places)
        return said.of_all if name == TOTAL else said.per_address

    mine, of_all, file = {name: "1"}, {name: " 2 "}, {name: "3"}
    assert found(mine, of_all, file) == 1
    assert found({}, of_all, file) == 2
    assert found({}, {}, file) == 3


@pytest.mark.parametrize("nonsense", ["", "abc", "-1", "0", "2147483648"])
def test_what_a_controller_keeps_and_no_broker_takes_counts_for_nothing(nonsense: str) -> None:
    assert limits({TOTAL: nonsense}, {TOTAL: "2"}).of_all == 2
    assert limits({TOTAL: nonsense}, {}, {TOTAL: "3"}).of_all == 3
    own = "listener.name.plaintext.max.connections"
    assert limits({own: nonsense}, {own: "4"}).of_listener == (("plaintext", 4),)


def test_a_file_may_let_nobody_in() -> None:
    assert limits(file={TOTAL: "0"}).of_all == 0


def test_hosts_and_listeners_have_bounds_of_their_own() -> None:
    said = limits(
        {OVERRIDES: " 127.0.0.1 : 5,nonsense,localhost:6,::1:7,x:y ", "listener.name.internal.max.connections": "8"},
        {"listener.name.internal.max.connections": "9", "listener.name.plaintext.max.connections": "10"},
    )
    assert said.of_host == (("127.0.0.1", 5), ("localhost", 6), ("::1", 7))
    assert said.of_listener == (("internal", 8), ("plaintext", 10))


def test_how_many_are_made_a_second_is_said_by_configurations_and_quotas_of_addresses() -> None:
    """SEC-09, KIP-612: for all, for a listener, and for addresses; quotas of users are none of it."""
    rate = "max.connection.creation.rate"
    said = limits(
        {f"listener.name.plaintext.{rate}": "7"},
        {rate: "9"},
        {rate: "3"},
        quotas={
            (("ip", "10.0.0.1"),): {"connection_creation_rate": 5.0},
            (("ip", None),): {"connection_creation_rate": 2.0},
            (("user", "ann"),): {"producer_byte_rate": 1.0},
        },
    )
    assert said == LimitConnections(
        NO_LIMIT,
        NO_LIMIT,
        created_of_all=9,
        created_of_listener=(("plaintext", 7),),
        created_of_address=(("10.0.0.1", 5), (None, 2)),
    )
