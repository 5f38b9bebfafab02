"""Clients of a broker are held to what their quotas allow them to produce, to fetch and to keep its thread busy: whose
quota a request is drawn from, and what counts of it.

A Fetch that exceeds its quota is answered with what was read, and the next one waits; Kafka answers it with nothing.
Time is processor time of the thread that decides: a hundred percent of it is all that a node has. What brokers ask of
each other, and a Produce that nobody waits for, takes no time of a quota, as in Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller_runtime.broker.byte_rates import ByteRates
from controller_runtime.metadata.client_quotas import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Client,
    Quotas,
)
from controller_runtime.protocol.api_keys import ApiKey, api
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.values import replace

EXEMPT_FROM_TIME: Final = (ApiKey.WRITE_TXN_MARKERS,)
"""Of what brokers ask of each other; a Fetch of one is known by its sender."""


class ClientRates:
    """Holds clients of a broker to what their quotas allow them."""

    def __init__(self, rates: ByteRates, quotas: Callable[[], Quotas], now: Callable[[], float]) -> None:
        """`quotas`: those in force; `now`: seconds, that only grow."""
        self._rates = rates
        self._quotas = quotas
        self._now = now
        self._known: Quotas = {}
        self._bounds_time = False

    @property
    def bounds_time(self) -> bool:
        """Somebody has a quota of time: what requests take has to be measured."""
        if (quotas := self._quotas()) is not self._known:
            self._known = quotas
            self._bounds_time = any(REQUEST_PERCENTAGE in each for each in quotas.values())
        return self._bounds_time

    def wait_for_time_ms(self, header: RequestHeader, body: Any, principal: str, seconds: float) -> int:
        """How long the sender of a request that took so long is to wait: a window at most."""
        if header.request_api_key in EXEMPT_FROM_TIME or (
            header.request_api_key == ApiKey.FETCH and not _is_a_consumers(body)
        ):
            return 0
        client = _client(header, principal)
        return self._rates.charge(self._quotas(), REQUEST_PERCENTAGE, client, seconds * 100, int(self._now() * 1000))

    def wait_ms(self, header: RequestHeader, body: Any, principal: str, request_bytes: int, answer_bytes: int) -> int:
        """How long the sender of a request is to wait. Of Fetch the answer counts, unless a broker asked."""
        quotas = self._quotas()
        if not quotas:
            return 0
        if header.request_api_key == ApiKey.PRODUCE:
            key, amount = PRODUCER_BYTE_RATE, request_bytes
        elif _is_a_consumers(body):
            key, amount = CONSUMER_BYTE_RATE, answer_bytes - _header_bytes(header)
        else:
            return 0
        return self._rates.charge(quotas, key, _client(header, principal), amount, int(self._now() * 1000))

    def bounded(self, header: RequestHeader, body: FetchRequest, principal: str) -> FetchRequest:
        """A Fetch, that asks for no more than its sender's quota gives in the time over which rates are measured."""
        quotas = self._quotas()
        if not quotas or not _is_a_consumers(body):
            return body
        most = self._rates.window_bytes(quotas, CONSUMER_BYTE_RATE, _client(header, principal))
        if most is None or most >= body.max_bytes:
            return body
        return replace(body, max_bytes=most, min_bytes=min(body.min_bytes, most))


def _client(header: RequestHeader, principal: str) -> Client:
    return principal.partition(":")[2], header.client_id or ""


def _is_a_consumers(body: FetchRequest) -> bool:
    return max(body.replica_id, body.replica_state.replica_id) < 0


def _header_bytes(header: RequestHeader) -> int:
    """Of an answer; Kafka does not count it, but for its length."""
    return 4 + (header.request_api_version >= api(ApiKey.FETCH).flexible_from)
