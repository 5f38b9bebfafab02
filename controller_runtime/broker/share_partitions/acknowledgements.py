"""What members say of records: judged and noted at once, answered when it is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller_runtime.broker.share_partitions.led import LedShares
from controller_runtime.broker.share_partitions.persister import Kept
from controller_runtime.coordinator.share_partitions.acknowledging import Refusal, Said, acknowledge
from controller_runtime.coordinator.share_partitions.sessions import Member, Place
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass, field

_NOT_HERE: Final = "This server does not host this topic-partition."


@dataclass(frozen=True, slots=True)
class Result:
    """Of the acknowledgements of one partition."""

    error: ErrorCode = ErrorCode.NONE
    words: str | None = None


@dataclass(slots=True, eq=False)
class Acknowledgements:
    """Of one request."""

    then: Callable[[], None]
    results: dict[Place, Result] = field(default_factory=dict)
    open: int = 1
    """Partitions whose changes are being kept; and one until all were looked at."""

    def close(self) -> None:
        self.open -= 1
        if not self.open:
            self.then()


def apply(
    shares: LedShares, member: Member, said: Mapping[Place, Sequence[Said]], into: Acknowledgements, now: Instant
) -> None:
    for place, batches in said.items():
        led = shares.by_key.get(ShareKey(member.group_id, *place))
        if led is None:
            into.results[place] = Result(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NOT_HERE)
            continue
        found = acknowledge(shares.fresh(led), member.member_id, batches, now)
        shares.watch(led)
        if isinstance(found, Refusal):
            into.results[place] = Result(found.error, found.words)
            continue
        into.results[place] = Result()
        if found:
            into.open += 1
            shares.keep(led, found, _ended(into, place))


def _ended(into: Acknowledgements, place: Place) -> Callable[[Kept], None]:
    def ended(kept: Kept) -> None:
        if kept.error != ErrorCode.NONE:
            into.results[place] = Result(kept.error, kept.words)
        into.close()

    return ended
