"""A message of another node that cannot be borne is taken back, as if it had never come, while nothing has changed.

`look` before the step and `take_back` after it raised. What must not have changed is `mark`; of what the step wanted
done, nothing may be more than words. Otherwise memory and disk might differ, and the node must not go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.identifiers import Instant
from controller_runtime.raft.calls import SentRequest
from controller_runtime.raft.effects import Note, RaftEffect, Reply, ReplyRecords, ReplySnapshot
from controller_runtime.raft.events import RequestArrived, ResponseArrived
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Follower, Leader
from controller_runtime.values import dataclass

_WORDS: Final = (Note, Reply, ReplyRecords, ReplySnapshot)
"""Effects that only say something: without them nobody knows more than before."""


@dataclass(frozen=True, slots=True)
class Untouched:
    """What a replica was before a step; see `take_back`."""

    mark: tuple[object, ...]
    wake_at: Instant | None
    call: SentRequest | None
    """What an answer is about: it ends with the answer."""


def look(q: Quorum, event: RequestArrived | ResponseArrived) -> Untouched:
    call = q.calls.in_flight.get(event.call) if isinstance(event, ResponseArrived) else None
    return Untouched(mark(q), q.wake_at, call)


def take_back(
    q: Quorum, before: Untouched, event: RequestArrived | ResponseArrived, effects: Iterable[RaftEffect]
) -> bool:
    """True: nothing had changed, and it is as if the message had never come."""
    if mark(q) != before.mark or not all(isinstance(effect, _WORDS) for effect in (*q.out, *effects)):
        return False
    q.out.clear()
    q.wake_at = before.wake_at
    if before.call is not None and isinstance(event, ResponseArrived):
        q.calls.reopen(event.call, before.call)
    return True


def mark(q: Quorum) -> tuple[object, ...]:
    """Equal as long as nothing changed that anybody relies on: roles, votes, the log, the voters, what is
    committed, who was asked.

    What a role remembers of others (who granted, how far they fetched, when they were heard) is not in it: each is
    one assignment of something that was really received, and to have noted it without answering is to have lost the
    answer on its way.
    """
    role, log = q.role, q.log
    of_role: tuple[object, ...] = ()
    if isinstance(role, Leader):
        of_role = (role.change, role.high_watermark, role.announced)
    elif isinstance(role, Follower) and role.snapshot is not None:
        of_role = (role.snapshot.snapshot_id, role.snapshot.position, role.snapshot.written)
    return (
        role,
        q.saved,
        q.high_watermark,
        log.start_offset,
        log.end_offset,
        log.flushed_offset,
        len(log.epoch_starts),
        len(q.history.sets),
        q.history.latest,
        q.history.kraft_version,
        q.calls.next_id,
        q.stop_deadline,
        q.stopped,
        of_role,
    )
