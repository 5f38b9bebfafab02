"""The table of clients names tests that are there."""

from __future__ import annotations

import pytest

from tools import client_features
from tools.client_features import CLIENTS, FEATURES, clients


def test_each_cell_is_of_a_client_of_the_table_and_names_a_test_that_is_there() -> None:
    assert {client for shown in FEATURES.values() for client in shown} <= set(CLIENTS)
    assert sum(line.startswith("| ") for line in clients()) == len(FEATURES) + 1


def test_a_test_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(client_features.FEATURES, "TLS", {"kafkajs": "test_tls_beside_java.py::test_kafkajs"})
    with pytest.raises(ValueError, match=r"test_tls_beside_java\.py::test_kafkajs"):
        list(clients())
