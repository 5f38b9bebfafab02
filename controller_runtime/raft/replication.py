"""The leader's half of replication: judging fetches, parking them, and moving the high watermark.

A replica's fetch offset says what it has on disk; the leader counts itself only up to its flushed offset. What a
majority of the latest voter set holds is committed, once a record of the leader's own epoch is among it (thesis 3.6.2).
Work per fetch does not depend on the length of the log, and voters are few.
"""

from __future__ import annotations

from typing import Final, assert_never

from controller_runtime.identifiers import Epoch, Instant, NodeId, Offset, OffsetAndEpoch
from controller_runtime.raft.effects import Reply, ReplyRecords, StartLeading
from controller_runtime.raft.epoch_claims import note_impostor
from controller_runtime.raft.log_view import Diverging, NeedsSnapshot, Valid
from controller_runtime.raft.messages import (
    HIGH_WATERMARK_UNKNOWN,
    HIGH_WATERMARK_UNUSED,
    FetchRequest,
    FetchResponse,
    LogBatch,
    RaftError,
)
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader, Parked, Progress

OBSERVER_SESSION_MS: Final = 300_000
MAX_OBSERVERS: Final = 10_000
MAX_PARKED: Final = 10_000
"""Beyond this many, a Fetch without news is answered at once."""


def on_fetch_request(q: Quorum, token: int, request: FetchRequest, now: Instant) -> None:
    error = check_epoch(q, request.epoch)
    if min(request.offset, request.last_epoch, request.max_wait_ms) < 0 or request.last_epoch > request.epoch:
        error = RaftError.INVALID_REQUEST
    leader = q.role
    if error is not RaftError.NONE or not isinstance(leader, Leader):
        refuse(q, token, error, q.leader_id)
        return
    match q.log.validate(request.offset, request.last_epoch):
        case Valid():
            _serve(q, leader, token, request, now)
        case Diverging(end):
            _note_contact(q, leader, request, now)
            _reply(q, leader, token, diverging=end)
        case NeedsSnapshot(snapshot_id):
            _note_contact(q, leader, request, now)
            _reply(q, leader, token, snapshot_id=snapshot_id)
        case _ as unknown:
            assert_never(unknown)


def check_epoch(q: Quorum, epoch: Epoch) -> RaftError:
    """What only the leader of exactly this epoch may do."""
    if epoch < q.epoch:
        return RaftError.FENCED_LEADER_EPOCH
    if epoch > q.epoch:
        return RaftError.UNKNOWN_LEADER_EPOCH
    if not isinstance(q.role, Leader):
        return RaftError.NOT_LEADER_OR_FOLLOWER
    return RaftError.NONE if q.stop_deadline is None else RaftError.BROKER_NOT_AVAILABLE


def refuse(q: Quorum, token: int, error: RaftError, leader_id: NodeId | None) -> None:
    q.out.append(Reply(token, FetchResponse(error, q.epoch, leader_id)))


def _reply(
    q: Quorum,
    leader: Leader,
    token: int,
    diverging: OffsetAndEpoch | None = None,
    snapshot_id: OffsetAndEpoch | None = None,
) -> None:
    response = FetchResponse(
        RaftError.NONE,
        q.epoch,
        q.config.node_id,
        high_watermark=HIGH_WATERMARK_UNKNOWN if leader.high_watermark is None else leader.high_watermark,
        log_start_offset=q.log.start_offset,
        diverging=diverging,
        snapshot_id=snapshot_id,
    )
    q.out.append(Reply(token, response))


def _serve(q: Quorum, leader: Leader, token: int, request: FetchRequest, now: Instant) -> None:
    progress = _note_contact(q, leader, request, now)
    if progress is not None:
        _note_position(q, progress, request.offset, now)
        if progress.key.node_id in leader.voters:
            advance_leader(q, leader)
    deadline = q.after(now, request.max_wait_ms)
    waiting = Parked(
        token,
        request.replica,
        request.offset,
        high_watermark=request.high_watermark,
        max_bytes=request.max_bytes,
        deadline=deadline,
    )
    if request.max_wait_ms == 0 or len(leader.parked) >= MAX_PARKED or _is_answered_now(q, leader, waiting):
        _answer(q, leader, waiting)
        return
    leader.parked[token] = waiting
    if leader.first_expiry is None or deadline < leader.first_expiry:
        leader.first_expiry = deadline


def _is_answered_now(q: Quorum, leader: Leader, waiting: Parked) -> bool:
    """A high watermark alone may wait for records that go the same way (`poll_parked`)."""
    if not _has_news(q, leader, waiting):
        return False
    if q.config.high_watermark_linger_ms and q.log.end_offset <= waiting.offset:
        leader.has_untold = True
        return False
    return True


def _has_news(q: Quorum, leader: Leader, waiting: Parked) -> bool:
    """Records, or a high watermark that the replica does not know (KIP-1166)."""
    if q.log.end_offset > waiting.offset:
        return True
    if leader.high_watermark is None or waiting.high_watermark == HIGH_WATERMARK_UNUSED:
        return False
    return waiting.high_watermark < min(leader.high_watermark, waiting.offset)


def _answer(q: Quorum, leader: Leader, waiting: Parked) -> None:
    hw = HIGH_WATERMARK_UNKNOWN if leader.high_watermark is None else leader.high_watermark
    response = FetchResponse(RaftError.NONE, q.epoch, q.config.node_id, hw, q.log.start_offset)
    q.out.append(ReplyRecords(waiting.token, response, waiting.offset, waiting.max_bytes))


# What is known of the replicas.


def _note_contact(q: Quorum, leader: Leader, request: FetchRequest, now: Instant) -> Progress | None:
    """Whoever fetches is alive; None if it is no replica. A voter's id with another directory id is an observer's."""
    key = request.replica
    if key.node_id < 0:
        return None
    if key.node_id == q.config.node_id:
        note_impostor(q, key)
        return None
    progress = leader.voters.get(key.node_id)
    if progress is None or q.voters.match(key) is None:
        progress = leader.observers.get(key)
        if progress is None:
            _forget_observers(q, leader, now)
            progress = leader.observers[key] = Progress(key)
    if progress is leader.voters.get(key.node_id):
        _notice_older_copy(q, progress, request.offset)
    progress.last_contact = now
    progress.next_begin = q.after(now, q.config.fetch_timeout_ms / 2)
    return progress


def _notice_older_copy(q: Quorum, progress: Progress, offset: Offset) -> None:
    """A voter says what it has on disk. Only another disk, or an older copy of it, can have less than it once had.

    What was committed with its word may be on a minority now, and it may have forgotten a vote: people must look.
    """
    had = progress.end_offset or Offset(0)
    if offset < had:
        reported = f"voter {progress.key.node_id} had the log up to {had} on its disk and now asks for {offset}"
        advice = "its disk is another one or an older copy; remove it from the quorum, format it anew, add it again"
        q.note_once(f"{reported}: {advice}", alarming=True)
        progress.end_offset = offset


def _forget_observers(q: Quorum, leader: Leader, now: Instant) -> None:
    """Bounded: observers silent for five minutes go, and the longest silent one if there are too many."""
    expired = [k for k, p in leader.observers.items() if q.after(p.last_contact, OBSERVER_SESSION_MS) <= now]
    for key in expired:
        del leader.observers[key]
    if len(leader.observers) >= MAX_OBSERVERS:
        del leader.observers[min(leader.observers, key=lambda k: leader.observers[k].last_contact)]


def _note_position(q: Quorum, progress: Progress, offset: Offset, now: Instant) -> None:
    if offset >= q.log.end_offset:
        progress.last_caught_up = now
    elif offset >= progress.last_fetch_leader_end:
        progress.last_caught_up = progress.last_fetch
    progress.last_fetch = now
    progress.last_fetch_leader_end = q.log.end_offset
    progress.end_offset = offset


# The high watermark.


def advance_leader(q: Quorum, leader: Leader) -> None:
    """Commit what a majority holds. A set that shrinks may hold less: the high watermark never falls."""
    held = [progress.end_offset or Offset(0) for progress in leader.voters.values()]
    if q.is_voter:
        held.append(q.log.flushed_offset)
    held.sort(reverse=True)
    if not held:
        return
    offset = held[q.voters.majority - 1]
    if offset <= leader.epoch_start or (leader.high_watermark is not None and offset <= leader.high_watermark):
        return
    assert offset <= q.log.end_offset, f"committed {offset} beyond the log's end {q.log.end_offset}"
    leader.high_watermark = offset
    q.raise_high_watermark(offset)
    if not leader.announced:
        leader.announced = True
        q.out.append(StartLeading(leader.epoch))
    if q.config.high_watermark_linger_ms:
        leader.has_untold = True
    else:
        _answer_news(q, leader)


def on_leader_append(q: Quorum, epoch: Epoch, batches: tuple[LogBatch, ...]) -> None:
    """The application writes. Its bytes are appended by the border in the same step; parked fetches have news."""
    leader = q.role
    assert isinstance(leader, Leader), f"only a leader appends, not a {type(leader).__name__}"
    assert epoch == leader.epoch, f"append for epoch {epoch} in epoch {leader.epoch}"
    for batch in batches:
        assert batch.epoch == epoch, f"batch of epoch {batch.epoch} in epoch {epoch}"
        q.note_batch(batch)


def _answer_news(q: Quorum, leader: Leader) -> None:
    """Tell everybody who waits and does not know: new records, or a new high watermark, also to those who do not say
    what they know.
    """
    unused = HIGH_WATERMARK_UNUSED
    ready = [p for p in leader.parked.values() if p.high_watermark == unused or _has_news(q, leader, p)]
    for waiting in ready:
        del leader.parked[waiting.token]
        _answer(q, leader, waiting)


def _tell_high_watermark(q: Quorum, leader: Leader, now: Instant) -> None:
    """Under load the next records carry it; only when none come it is sent alone, which saves half of all fetches."""
    if leader.tell_at is None:
        leader.tell_at = q.after(now, q.config.high_watermark_linger_ms)
    leader.has_untold = False
    if now < leader.tell_at:
        q.wake(leader.tell_at)
        return
    leader.tell_at = None
    _answer_news(q, leader)


def poll_parked(q: Quorum, leader: Leader, now: Instant) -> None:
    """Answer who has news because the log grew, and who has waited long enough."""
    if leader.has_untold or leader.tell_at is not None:
        _tell_high_watermark(q, leader, now)
    if not leader.parked:
        return
    expired = leader.first_expiry is not None and leader.first_expiry <= now
    ready = [p for p in leader.parked.values() if p.offset < q.log.end_offset or (expired and p.deadline <= now)]
    for waiting in ready:
        del leader.parked[waiting.token]
        _answer(q, leader, waiting)
    if expired:
        leader.first_expiry = min((p.deadline for p in leader.parked.values()), default=None)
    if leader.first_expiry is not None:
        q.wake(leader.first_expiry)
