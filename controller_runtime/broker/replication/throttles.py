"""How fast replicas may catch up (KIP-73), and logs move between directories (KIP-113).

Topics list the replicas that are throttled, on the side of the leader and on that of the follower; brokers have the
rates. As in Apache Kafka what all listed replicas get counts, whether or not they are in sync, and only those that are
not in sync wait: an acknowledgement is never kept waiting. A rate is measured over the last seconds, and who is above
it takes nothing until it has fallen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.metadata.config_values import ConfigType, integer
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC, ConfigsImage
from controller_runtime.parts.sampled_rate import SampledRate
from controller_runtime.values import dataclass

UNBOUNDED: Final = 2**63 - 1
_LEADER_RATE: Final = "leader.replication.throttled.rate"
_LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
_FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
_FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
_DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class ThrottleSamples:
    """Kafka's `replication.quota.window.…` and `alter.log.dirs.replication.quota.window.…`, and their defaults."""

    count: int = 11
    window_ms: int = 1_000
    directory_count: int = 11
    directory_window_ms: int = 1_000


class Throttle:
    """One rate, in bytes a second, and which replicas of this broker it concerns."""

    def __init__(
        self, configs: Callable[[], ConfigsImage], node_id: NodeId, names: tuple[str, str | None], rate: SampledRate
    ) -> None:
        """`names`: of the rate, and of the list of replicas; without a list it concerns all."""
        self._configs = configs
        self._node_id = node_id
        self._name, self._list_name = names
        self._rate = rate
        self._seen: ConfigsImage | None = None
        self._bound = UNBOUNDED
        self._listed: dict[str, frozenset[int] | None] = {}
        """By topic; None: every partition of it."""

    def concerns(self, topic: str, index: int) -> bool:
        """It is listed."""
        self._look()
        if self._list_name is None:
            return True
        if topic not in self._listed:
            listed = self._configs().of(TOPIC, topic).get(self._list_name, "")
            self._listed[topic] = _partitions(listed, self._node_id)
        found = self._listed[topic]
        return found is None or index in found

    def record(self, count: int, now: Instant) -> None:
        """So many bytes of what it concerns."""
        self._rate.record(count, _ms(now))

    def is_exceeded(self, now: Instant) -> bool:
        self._look()
        return self._bound < UNBOUNDED and self._rate.per_second(_ms(now)) > self._bound

    def falls_at(self, now: Instant) -> Instant:
        """When the rate is within its bound again, if nothing more happens."""
        return Instant(now + (self._rate.wait_ms(self._bound, _ms(now)) + 1) / 1000)

    def _look(self) -> None:
        configs = self._configs()
        if configs is self._seen:
            return
        self._seen, self._listed = configs, {}
        places = (configs.of(BROKER, str(self._node_id)), configs.of(BROKER, ALL_BROKERS))
        stated = next((each[self._name] for each in places if self._name in each), "")
        bound = integer(stated, ConfigType.LONG)
        self._bound = UNBOUNDED if bound is None else bound


class Throttles:
    def __init__(self, configs: Callable[[], ConfigsImage], node_id: NodeId, samples: ThrottleSamples) -> None:
        """`configs`: the newest of the cluster."""

        def throttle(name: str, listed: str | None, count: int, window_ms: int) -> Throttle:
            rate = SampledRate(count, window_ms, from_its_beginning=True)
            return Throttle(configs, node_id, (name, listed), rate)

        self.leader = throttle(_LEADER_RATE, _LEADER_REPLICAS, samples.count, samples.window_ms)
        self.follower = throttle(_FOLLOWER_RATE, _FOLLOWER_REPLICAS, samples.count, samples.window_ms)
        self.directories = throttle(_DIRECTORY_RATE, None, samples.directory_count, samples.directory_window_ms)


def _partitions(listed: str, node_id: NodeId) -> frozenset[int] | None:
    """`partition:broker` pairs, of which this broker's count. The controller has checked their form, not their size: a
    number that no replica can have names none.
    """
    if listed.strip() == _ALL:
        return None
    pairs = (each.partition(":") for each in listed.split(","))
    named = ((integer(index), integer(broker)) for index, _, broker in pairs)
    return frozenset(index for index, broker in named if index is not None and broker == node_id)


def _ms(now: Instant) -> int:
    return int(now * 1000)
