"""How fast a client may create and delete partitions: the quota `controller_mutation_rate` (KIP-599).

Each client draws from a bucket of tokens, one for each partition that is created or deleted. It fills at the rate of
the quota up to what the rate gives in the window (`controller.quota.window.num` times `.size.seconds`), and may be
overdrawn once: what comes while it is overdrawn is refused with the time that it takes to fill. Clients of versions
that do not know the refusal are served and told to wait.

A bucket that is full is as good as none, so full ones are forgotten when there are many. Buckets live as long as this
process leads; the next leader begins with full ones, as in Kafka.
"""

from __future__ import annotations

from math import floor, inf
from typing import Any, Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.identifiers import Instant
from controller_runtime.metadata.client_quotas import CONTROLLER_MUTATION_RATE, Client, Quotas, quota_of
from controller_runtime.parts.api_table import HELD_TO_MUTATION_RATE
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, replace

MANY_BUCKETS: Final = 1000
_LONGEST_MS: Final = 2**31 - 1


@dataclass(slots=True)
class TokenBucket:
    rate: float
    """As the quota was when somebody drew last."""
    tokens: float
    filled_at: Instant

    def fill(self, capacity: float, now: Instant) -> None:
        self.tokens = min(capacity, self.tokens + self.rate * (now - self.filled_at))
        self.filled_at = now

    def is_full(self, capacity: float, now: Instant) -> bool:
        return self.tokens + self.rate * (now - self.filled_at) >= capacity


class MutationQuota:
    """What one request draws. Without a bucket it may draw whatever it wants."""

    def __init__(self, bucket: TokenBucket | None = None, rate: float = 0.0, *, is_strict: bool = False) -> None:
        self._bucket = bucket
        self._rate = rate
        self._is_strict = is_strict
        self.throttle_ms = 0
        """How long the client is to wait."""

    def take(self, partitions: int) -> None:
        """Raises Refused with THROTTLING_QUOTA_EXCEEDED; then nothing is taken."""
        bucket = self._bucket
        if bucket is None:
            return
        if self._is_strict:
            self._look(bucket)
            if self.throttle_ms:
                raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
            bucket.tokens -= partitions
        else:
            bucket.tokens -= partitions
            self._look(bucket)

    def _look(self, bucket: TokenBucket) -> None:
        if bucket.tokens < 0:
            wanted_ms = -bucket.tokens / self._rate * 1000 + 0.5 if self._rate > 0 else inf
            self.throttle_ms = floor(min(wanted_ms, _LONGEST_MS))

    def said_in(self, decision: Decision) -> Decision:
        """The decision, whose answer names the time to wait."""
        response: Any = decision.response
        return replace(decision, response=replace(response, throttle_time_ms=self.throttle_ms))


UNLIMITED: Final = MutationQuota()


class MutationQuotas:
    """The buckets of all clients."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._buckets: dict[Client, TokenBucket] = {}
        self._many = MANY_BUCKETS

    def __len__(self) -> int:
        return len(self._buckets)

    def of(self, quotas: Quotas, request: Message, context: RequestContext, now: Instant) -> MutationQuota:
        strict_since = HELD_TO_MUTATION_RATE.get(request.KEY)  # type: ignore[call-overload]
        if strict_since is None or not quotas:
            return UNLIMITED
        _, _, user = context.principal.partition(":")
        found = quota_of(quotas, CONTROLLER_MUTATION_RATE, user, context.client_id or "")
        if found is None:
            return UNLIMITED
        client, rate = found
        bucket = self._bucket(client, rate, now)
        return MutationQuota(bucket, rate, is_strict=context.api_version >= strict_since)

    def _bucket(self, client: Client, rate: float, now: Instant) -> TokenBucket:
        capacity = rate * self._window_s
        bucket = self._buckets.get(client)
        if bucket is None:
            self._forget_full(now)
            bucket = self._buckets[client] = TokenBucket(rate, capacity, now)
        bucket.rate = rate
        bucket.fill(capacity, now)
        return bucket

    def _forget_full(self, now: Instant) -> None:
        if len(self._buckets) < self._many:
            return
        left = {who: one for who, one in self._buckets.items() if not one.is_full(one.rate * self._window_s, now)}
        self._buckets, self._many = left, max(MANY_BUCKETS, 2 * len(left))
