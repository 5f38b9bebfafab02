"""How fast connections may be made on the listeners of one role (KIP-612), as Apache Kafka measures it: on all of them
together and on each, and from one address. Implements `connection_quotas.Pace`.

One that exceeds a rate waits for it to fall, at most one window. What is refused does not count for its address. The
listener between brokers is held to its own rate only. Addresses that have been silent are forgotten when there are
many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from controller_runtime.network.connection_quotas import NO_LIMIT
from controller_runtime.parts.sampled_rate import SampledRate
from controller_runtime.values import dataclass, field

MANY_ADDRESSES: Final = 1000


@dataclass(frozen=True, slots=True)
class CreationRates:
    """Connections a second."""

    of_all: int = NO_LIMIT
    of_listener: Mapping[str, int] = field(default_factory=dict)
    """By the listener's name, besides that of all."""
    per_address: int = NO_LIMIT
    of_address: Mapping[bytes, int] = field(default_factory=dict)
    """By packed address, instead of `per_address`."""


class ConnectionPace:
    def __init__(self, samples: tuple[int, int], clock: Callable[[], float]) -> None:
        """`samples`: of a rate, how many and of how many milliseconds; `clock`: seconds that only grow."""
        self.rates = CreationRates()
        self._samples = samples
        self._clock = clock
        self._of_all = SampledRate(*samples)
        self._of_listener: dict[str, SampledRate] = {}
        self._of_address: dict[bytes, SampledRate] = {}
        self._many = MANY_ADDRESSES

    def of_listener(self, name: str, *, protected: bool) -> float:
        now_ms, wait = self._now_ms(), 0
        if not protected:
            wait = self._wait_ms(self._of_all, self.rates.of_all, now_ms)
        if (bound := self.rates.of_listener.get(name)) is not None:
            own = self._of_listener.setdefault(name, SampledRate(*self._samples))
            wait = max(wait, self._wait_ms(own, bound, now_ms))
        return wait / 1000

    def of_address(self, address: bytes) -> float:
        bound = self.rates.of_address.get(address, self.rates.per_address)
        if bound == NO_LIMIT:
            return 0.0
        now_ms = self._now_ms()
        rate = self._of_address.get(address)
        if rate is None:
            self._forget_silent(now_ms)
            rate = self._of_address[address] = SampledRate(*self._samples)
        wait = self._wait_ms(rate, bound, now_ms)
        if wait:
            rate.record(-1, now_ms)
        return wait / 1000

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, call)

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _wait_ms(self, rate: SampledRate, bound: int, now_ms: int) -> int:
        _, window_ms = self._samples
        rate.record(1, now_ms)
        if bound == NO_LIMIT:
            return 0
        return min(rate.wait_ms(bound, now_ms), window_ms)

    def _forget_silent(self, now_ms: int) -> None:
        if len(self._of_address) >= self._many:
            self._of_address = {who: one for who, one in self._of_address.items() if not one.is_idle(now_ms)}
            self._many = max(MANY_ADDRESSES, 2 * len(self._of_address))
