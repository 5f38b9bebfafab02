"""Who may produce, fetch and connect how fast: whose quota it is, what counts, and how long one waits."""

from __future__ import annotations

import pytest

from controller_runtime.broker.byte_rates import MANY_RATES, ByteRates
from controller_runtime.metadata.client_quotas import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Quotas,
)
from controller_runtime.protocol.messages.fetch_request import FetchRequest, ReplicaState
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.server.shell.client_rates import ClientRates
from controller_runtime.server.shell.connection_pace import MANY_ADDRESSES, ConnectionPace, CreationRates
from controller_runtime.values import replace

pytestmark = pytest.mark.unit

SAMPLES = (11, 1000)
HERE, THERE = b"\x7f\0\0\1", b"\x0a\0\0\1"
PRODUCE, FETCH = ProduceRequest(), FetchRequest()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def waits(
    quotas: Quotas, body: ProduceRequest | FetchRequest, user: str = "User:ann", client_id: str | None = "c"
) -> int:
    """Of one that asks with 20,000 bytes and is answered with 30,000."""
    rates = ClientRates(ByteRates(*SAMPLES), lambda: quotas, Clock())
    header = RequestHeader(
        request_api_key=0 if body is PRODUCE else 1, request_api_version=13, correlation_id=1, client_id=client_id
    )
    return rates.wait_ms(header, body, user, 20_000, 30_000)


def test_of_produce_the_request_counts_and_of_fetch_the_answer() -> None:
    """QUO-01, SEC-10: 1000 bytes a second, over the ten seconds that a rate begins with."""
    quotas: Quotas = {(("user", "ann"),): {PRODUCER_BYTE_RATE: 1000.0, CONSUMER_BYTE_RATE: 1000.0}}
    assert (waits(quotas, PRODUCE), waits(quotas, FETCH)) == (10_000, 19_995)
    assert waits(quotas, PRODUCE, "User:bob") == waits({}, PRODUCE) == 0
    assert waits({(("client-id", "c"),): {PRODUCER_BYTE_RATE: 1000.0}}, FETCH) == 0
    assert waits({(("client-id", "c"),): {PRODUCER_BYTE_RATE: 1000.0}}, PRODUCE) == 10_000
    assert waits({(("client-id", None),): {PRODUCER_BYTE_RATE: 1000.0}}, PRODUCE, client_id=None) == 10_000


def test_a_consumer_is_given_no_more_than_its_quota_has_for_all_windows() -> None:
    """SEC-10, as Kafka: what is beyond would only be waited for."""
    quotas: Quotas = {(("user", "ann"),): {CONSUMER_BYTE_RATE: 100.0}}
    rates = ClientRates(ByteRates(*SAMPLES), lambda: quotas, Clock())
    header = RequestHeader(request_api_key=1, request_api_version=13, correlation_id=1, client_id="c")
    asked = FetchRequest(max_bytes=1 << 20, min_bytes=5000)
    found = rates.bounded(header, asked, "User:ann")
    assert (found.max_bytes, found.min_bytes) == (1000, 1000)
    assert rates.bounded(header, replace(asked, max_bytes=999), "User:ann").max_bytes == 999
    assert rates.bounded(header, asked, "User:bob") is asked
    of_broker = replace(asked, replica_id=2)
    assert rates.bounded(header, of_broker, "User:ann") is of_broker


def test_who_keeps_the_thread_busy_waits_a_window_at_most() -> None:
    """SEC-10, QUO-03: ten percent, over the ten seconds that a rate begins with, are a second of the thread."""
    quotas: Quotas = {(("user", "ann"),): {REQUEST_PERCENTAGE: 10.0}}
    rates = ClientRates(ByteRates(*SAMPLES), lambda: quotas, Clock())
    header = RequestHeader(request_api_key=3, request_api_version=12, correlation_id=1, client_id="c")
    asked = [rates.wait_for_time_ms(header, None, "User:ann", seconds) for seconds in (1.0, 0.05, 30.0)]
    assert asked == [0, 500, 1000]
    assert rates.wait_for_time_ms(header, None, "User:bob", 30.0) == 0


def test_what_brokers_ask_of_each_other_takes_no_time_of_a_quota() -> None:
    quotas: Quotas = {(("user", None),): {REQUEST_PERCENTAGE: 1e-9}}
    rates = ClientRates(ByteRates(*SAMPLES), lambda: quotas, Clock())

    def asked(key: int, body: FetchRequest | None) -> int:
        header = RequestHeader(request_api_key=key, request_api_version=1, correlation_id=1)
        return rates.wait_for_time_ms(header, body, "User:ann", 1.0)

    assert asked(1, FETCH) == asked(3, None) == 1000
    assert asked(1, FetchRequest(replica_id=3)) == asked(27, None) == 0


def test_time_is_measured_only_while_somebody_has_a_quota_of_it() -> None:
    quotas: dict[str, Quotas] = {"now": {(("user", "ann"),): {PRODUCER_BYTE_RATE: 1.0}}}
    rates = ClientRates(ByteRates(*SAMPLES), lambda: quotas["now"], Clock())
    assert rates.bounds_time is False
    quotas["now"] = {**quotas["now"], (("client-id", None),): {REQUEST_PERCENTAGE: 5.0}}
    assert rates.bounds_time is True
    quotas["now"] = {}
    assert rates.bounds_time is False


def test_brokers_that_replicate_are_no_consumers() -> None:
    quotas: Quotas = {(("user", None),): {CONSUMER_BYTE_RATE: 1.0}}
    assert waits(quotas, FETCH) > 0
    assert waits(quotas, FetchRequest(replica_id=3)) == 0
    assert waits(quotas, FetchRequest(replica_state=ReplicaState(replica_id=3))) == 0


def test_who_shares_a_quota_shares_its_rate() -> None:
    """A user's clients draw on one rate, each client of a default on its own."""
    rates = ByteRates(*SAMPLES)
    of_ann: Quotas = {(("user", "ann"),): {PRODUCER_BYTE_RATE: 1000.0}}
    assert [rates.charge(of_ann, PRODUCER_BYTE_RATE, ("ann", each), 8_000, 0) for each in "ab"] == [0, 6_000]
    each_client: Quotas = {(("client-id", None),): {PRODUCER_BYTE_RATE: 1000.0}}
    assert [rates.charge(each_client, PRODUCER_BYTE_RATE, ("", each), 8_000, 0) for each in "ab"] == [0, 0]


def test_rates_that_count_nothing_are_forgotten() -> None:
    """A client that makes up names has no memory of ours."""
    rates = ByteRates(*SAMPLES)
    quotas: Quotas = {(("client-id", None),): {PRODUCER_BYTE_RATE: 1000.0}}
    for number in range(10 * MANY_RATES):
        rates.charge(quotas, PRODUCER_BYTE_RATE, ("", f"c{number}"), 1, number * 20)
    assert len(rates) <= 2 * MANY_RATES


def test_a_quota_of_next_to_nothing_is_no_endless_wait() -> None:
    rates = ByteRates(*SAMPLES)
    quotas: Quotas = {(("user", "ann"),): {PRODUCER_BYTE_RATE: 1e-300}}
    assert rates.charge(quotas, PRODUCER_BYTE_RATE, ("ann", ""), 1 << 30, 0) == 2**31 - 1


def test_connections_are_made_as_fast_as_all_and_a_listener_allow() -> None:
    """SEC-09: nobody waits longer than a window; the listener between brokers knows its own bound only."""
    pace = ConnectionPace(SAMPLES, Clock())
    pace.rates = CreationRates(of_all=1, of_listener={"SLOW": 2})
    assert [pace.of_listener("OTHER", protected=False) for _ in range(12)] == [0.0] * 10 + [1.0] * 2
    assert [pace.of_listener("OTHER", protected=True) for _ in range(30)] == [0.0] * 30
    assert [pace.of_listener("SLOW", protected=True) for _ in range(22)] == [0.0] * 20 + [0.5, 1.0]


def test_an_address_has_its_own_pace_and_what_is_refused_does_not_count() -> None:
    clock = Clock()
    pace = ConnectionPace(SAMPLES, clock)
    assert [pace.of_address(HERE) for _ in range(100)] == [0.0] * 100
    pace.rates = CreationRates(per_address=1, of_address={THERE: 2})
    assert [pace.of_address(HERE) for _ in range(12)] == [0.0] * 10 + [1.0] * 2
    assert [pace.of_address(THERE) for _ in range(21)] == [0.0] * 20 + [0.5]
    clock.now += 1.0
    assert pace.of_address(HERE) == 1.0
    clock.now += 10.0
    assert pace.of_address(HERE) == 0.0


def test_addresses_that_are_silent_are_forgotten() -> None:
    clock = Clock()
    pace = ConnectionPace(SAMPLES, clock)
    pace.rates = CreationRates(per_address=1)
    for number in range(10 * MANY_ADDRESSES):
        clock.now += 0.02
        pace.of_address(number.to_bytes(4, "big"))
    assert len(pace._of_address) <= 2 * MANY_ADDRESSES
