"""Ids of directories as Apache Kafka 4.3.1 reads them: what `DirectoryId.reserved` and `Uuid.compareTo` answered."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Endpoint, Uuid
from controller_runtime.metadata.cluster import Listener, directory_order, is_reserved

pytestmark = pytest.mark.unit

LEAST, LARGEST = -(2**63), 2**63 - 1


def uuid(high: int, low: int) -> Uuid:
    return Uuid(high.to_bytes(8, "big", signed=True) + low.to_bytes(8, "big", signed=True))


@pytest.mark.parametrize("half", [(0, 0), (0, 1), (0, 99), (0, -1), (0, LEAST)])
def test_the_first_hundred_ids_are_reserved_and_the_negative_ones_before_them(half: tuple[int, int]) -> None:
    assert is_reserved(uuid(*half))


@pytest.mark.parametrize("half", [(0, 100), (0, LARGEST), (1, 0), (1, 5), (-1, 5), (-1, -1), (LEAST, 0)])
def test_every_other_id_may_name_a_directory(half: tuple[int, int]) -> None:
    assert not is_reserved(uuid(*half))


def test_ids_are_ordered_by_two_signed_numbers() -> None:
    halves = [LEAST, -2, -1, 0, 1, 1 << 62, LARGEST]
    wanted = [uuid(high, low) for high in halves for low in halves]
    shuffled = wanted[::-1]
    assert sorted(shuffled, key=directory_order) == wanted


def test_a_listener_is_reached_at_its_host_and_port() -> None:
    assert Listener("broker-1", 9092, security_protocol=1).endpoint == Endpoint("broker-1", 9092)
