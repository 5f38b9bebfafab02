"""Kafka's raft-channel-metrics of a process: everything that it asks of others, as counts and as rates of the last
minute.

Kafka has one network client for each kind of traffic; a process of ours has one pool, so what is shown here is all of
it together.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from controller_runtime.network.client_pool import PoolCounts
from controller_runtime.server.telemetry.measuring import RATE_WINDOW_S, Rate
from controller_runtime.values import dataclass

RATES: Final = {
    "connection-creation": "connections",
    "connection-close": "closed",
    "request": "requests",
    "response": "responses",
    "outgoing-byte": "bytes_out",
    "incoming-byte": "bytes_in",
    "network-io": "operations",
}
"""Kafka's name of the sensor, and the count that it is about."""


@dataclass(frozen=True, slots=True)
class ChannelFacts:
    open_connections: int
    totals: dict[str, int]
    """By the names of `RATES`."""
    rates: dict[str, float]
    """Per second."""
    request_size_avg: float | None
    """None while nothing is sent."""
    request_size_max: int | None


class ChannelObserver:
    """What is kept between two looks at a pool."""

    def __init__(self, now: float) -> None:
        self._rates = {name: Rate(now) for name in RATES}
        self._largest: deque[tuple[float, int]] = deque()
        """When somebody looked, and the largest request since the look before it."""

    def read(self, counts: PoolCounts, now: float) -> ChannelFacts:
        totals = {name: getattr(counts, count) for name, count in RATES.items()}
        rates = {name: rate.per_second(totals[name], now) for name, rate in self._rates.items()}
        self._largest.append((now, counts.largest_request))
        while self._largest[0][0] <= now - RATE_WINDOW_S:
            self._largest.popleft()
        average = rates["outgoing-byte"] / rates["request"] if rates["request"] else None
        most = max(size for _, size in self._largest) or None
        return ChannelFacts(counts.open_connections, totals, rates, average, most)
