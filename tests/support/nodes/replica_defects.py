"""Defects of replication, one at a time: each breaks one rule of the production broker as somebody once did.

`Defect.seed` is a schedule of `replica_schedule` that notices it. It changes with every event in a broker:

    PYTHONPATH=.:tests python -m support.nodes.replica_defects            # looks for the first seed of each
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pytest

from controller_runtime.broker.replication import follower as followers
from controller_runtime.broker.replication.follower import Cut, Follower, Take
from controller_runtime.broker.replication.led_replicas import IsrChange, LedReplicas, Surroundings
from controller_runtime.broker.replication.remote_replica import RemoteReplica
from controller_runtime.broker.replication.truncation import EpochStarts
from controller_runtime.identifiers import Instant
from controller_runtime.protocol.messages.fetch_response import PartitionData
from controller_runtime.values import dataclass
from support.nodes.replica_schedule import Schedule

SEEDS: Final = 40


@dataclass(frozen=True, slots=True)
class Defect:
    name: str
    place: object
    attribute: str
    broken: object
    seed: int


def nothing_is_cut(_starts: EpochStarts, log_end: int, _epoch: int, _end: int) -> int:
    return log_end


def the_leader_alone_decides(_self: LedReplicas, own_end: int, _around: Surroundings) -> int:
    return own_end


def any_number_is_enough(_self: LedReplicas, _min_in_sync: int) -> int:
    return 0


def asked_isr(self: LedReplicas) -> frozenset[int]:
    return frozenset(self.isr if self.pending is None else self.pending.isr)


_FETCHED: Final = RemoteReplica.fetched
_JUDGE: Final = Follower.judge
_TAKE: Final = Follower.take


def joins_wherever_it_is(
    self: LedReplicas, follower: int, _high_watermark: int, around: Surroundings
) -> IsrChange | None:
    remote = self.remotes[follower]
    if self.pending is not None or follower in self.isr or not around.may_join(follower, remote):
        return None
    return self._ask((*self.isr, follower))


def what_is_asked_for_is_had_already(
    self: RemoteReplica, offset: int, start: int, broker_epoch: int, leader_end: int, now: Instant
) -> None:
    _FETCHED(self, max(offset, leader_end), start, broker_epoch, leader_end, now)


def cut_to_its_high_watermark(self: Follower) -> int | None:
    return self.log.high_watermark if self.log.high_watermark < self.log.end_offset else None


def followers_believe_the_leaders_high_watermark(self: Follower) -> int | None:
    self.log.high_watermark = max(self.log.high_watermark, self.leaders_high_watermark)
    return None


def a_diverging_answer_says_nothing(self: Follower, answer: PartitionData) -> Cut | Take | None:
    diverging = answer.diverging_epoch
    return None if diverging.epoch >= 0 or diverging.end_offset >= 0 else _JUDGE(self, answer)


def appended_epochs_are_not_noted(self: Follower, found: Take) -> None:
    starts = list(self.log.epoch_starts)
    _TAKE(self, found)
    self.log.epoch_starts[:] = starts


DEFECTS: Final = (
    Defect("KAFKA-7164: a log is not cut", followers, "cut_at", nothing_is_cut, 0),
    Defect("the high watermark is the leader's end", LedReplicas, "high_watermark", the_leader_alone_decides, 0),
    Defect("KIP-966: it moves below min.insync.replicas", LedReplicas, "needed", any_number_is_enough, 3),
    Defect("KIP-497: it waits for the ISR asked for only", LedReplicas, "maximal_isr", property(asked_isr), 3),
    Defect("joins wherever it is", LedReplicas, "expand", joins_wherever_it_is, 0),
    Defect("a fetch counts for what it asks for", RemoteReplica, "fetched", what_is_asked_for_is_had_already, 0),
    Defect("KAFKA-1211: cut to its own high watermark", Follower, "first_cut", property(cut_to_its_high_watermark), 0),
    Defect("followers believe any high watermark", Follower, "settle", followers_believe_the_leaders_high_watermark, 0),
    Defect("a diverging answer says nothing", Follower, "judge", a_diverging_answer_says_nothing, 0),
    Defect("epochs of what is taken are not noted", Follower, "take", appended_epochs_are_not_noted, 0),
)


def noticed(defect: Defect, seed: int) -> str:
    return noticed_by(defect, lambda: Schedule(seed).run())


def noticed_by(defect: Defect, run: Callable[[], object]) -> str:
    """How a schedule ends in which this is broken; "" if nothing is noticed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(defect.place, defect.attribute, defect.broken)
        try:
            run()
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n")[0][:150]
    return ""


def look_for(
    defects: Sequence[Defect],
    notices: Callable[[Defect, int], str],
    names: Sequence[str],
    say: Callable[[str], Any] = partial(print, flush=True),
) -> None:
    """The first seed of each, or of those that are named."""
    for defect in defects:
        if names and not any(name in defect.name for name in names):
            continue
        found = next(((seed, how) for seed in range(SEEDS) if (how := notices(defect, seed))), None)
        say(f"{defect.name}: {'not noticed' if found is None else f'seed {found[0]}: {found[1]}'}")


if __name__ == "__main__":
    look_for(DEFECTS, noticed, sys.argv[1:])
