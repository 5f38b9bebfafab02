"""What the leader of shared partitions counts of requests and of records, as Apache Kafka's metrics do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from controller_runtime.broker.share_facts import WORDS
from controller_runtime.broker.share_partitions.acknowledgements import Result
from controller_runtime.coordinator.share_partitions.acknowledging import Said
from controller_runtime.coordinator.share_partitions.sessions import Place
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass, field


@dataclass(slots=True, eq=False)
class ShareCounts:
    fetches: int = 0
    failed_fetches: int = 0
    acknowledgements: int = 0
    failed_acknowledgements: int = 0
    records: dict[int, int] = field(default_factory=lambda: dict.fromkeys(WORDS, 0))

    def fetched(self, wanted: Iterable[Place]) -> None:
        self.fetches += len({topic for topic, _ in wanted})

    def fetch_failed(self, failed: Iterable[Place]) -> None:
        self.failed_fetches += len({topic for topic, _ in failed})

    def acknowledged(self, said: Iterable[Place]) -> None:
        self.acknowledgements += len({topic for topic, _ in said})

    def settled(self, said: Mapping[Place, Sequence[Said]], results: Mapping[Place, Result]) -> None:
        """What was said, and what became of it."""
        failed = {place for place in said if results[place].error != ErrorCode.NONE}
        self.failed_acknowledgements += len({topic for topic, _ in failed})
        for place, batches in said.items():
            if place not in failed:
                for batch in batches:
                    self._count(batch)

    def _count(self, batch: Said) -> None:
        if len(batch.types) == 1:
            if batch.types[0] in self.records:
                self.records[batch.types[0]] += batch.last - batch.first + 1
            return
        for word in batch.types:
            if word in self.records:
                self.records[word] += 1
