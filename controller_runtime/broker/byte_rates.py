"""How many bytes a client may produce and fetch in a second (`producer_byte_rate` and `consumer_byte_rate`, KIP-13,
KIP-55), how much of a thread's time its requests may take (`request_percentage`, KIP-124), and how long who exceeds it
has to wait (KIP-219).

What a quota does not ask for is not measured. A rate that counts nothing any more is as good as none, so idle ones are
forgotten when there are many.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.metadata.client_quotas import REQUEST_PERCENTAGE, Client, Quotas, quota_of
from controller_runtime.parts.sampled_rate import SampledRate

MANY_RATES: Final = 1000
MOST_BYTES: Final = 2**31 - 1


class ByteRates:
    def __init__(self, samples: int, window_ms: int) -> None:
        """`quota.window.num` and `quota.window.size.seconds`."""
        self._samples = samples
        self._window_ms = window_ms
        self._rates: dict[tuple[str, str, str], SampledRate] = {}
        self._many = MANY_RATES

    def __len__(self) -> int:
        return len(self._rates)

    def charge(self, quotas: Quotas, key: str, client: Client, amount: float, now_ms: int) -> int:
        """`amount`: bytes, or hundredths of a second of a thread. `client`: the user's name and the client id. How long
        it is to wait, in milliseconds.
        """
        found = quota_of(quotas, key, *client)
        if found is None:
            return 0
        shared_by, bound = found
        rate = self._rates.get((key, *shared_by))
        if rate is None:
            self._forget_idle(now_ms)
            rate = self._rates[(key, *shared_by)] = SampledRate(self._samples, self._window_ms)
        rate.record(amount, now_ms)
        wait_ms = rate.wait_ms(bound, now_ms)
        return min(wait_ms, self._window_ms) if key == REQUEST_PERCENTAGE else wait_ms

    def window_bytes(self, quotas: Quotas, key: str, client: Client) -> int | None:
        """As much as a client may have in all windows together: what it asks for beyond it would only be waited for."""
        found = quota_of(quotas, key, *client)
        return None if found is None else int(min(found[1] * (self._samples - 1) * self._window_ms / 1000, MOST_BYTES))

    def _forget_idle(self, now_ms: int) -> None:
        if len(self._rates) >= self._many:
            self._rates = {who: one for who, one in self._rates.items() if not one.is_idle(now_ms)}
            self._many = max(MANY_RATES, 2 * len(self._rates))
