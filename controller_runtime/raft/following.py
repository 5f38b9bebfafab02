"""The follower's half of replication, and finding a leader to follow.

A follower asks for what comes after all that it has on disk, so its question is its acknowledgement. Who knows no
leader asks the bootstrap servers and the voters one after another: every answer names the leader. A follower whose
leader's connection ended stands soon (`suspect`), protected by pre-vote; one whose leader merely is slow waits for the
whole fetch timeout.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Endpoint, Instant, NodeId, Offset
from controller_runtime.raft.effects import Append, Fault, Lane
from controller_runtime.raft.election import become_prospective
from controller_runtime.raft.events import Failure
from controller_runtime.raft.messages import HIGH_WATERMARK_UNKNOWN, FetchRequest, FetchResponse, LogBatch
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import FetchingSnapshot, Follower, Unattached
from controller_runtime.raft.snapshot_transfer import next_chunk
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, VoterSet

MAX_DOUBLINGS: Final = 7
"""A suspicion that proved wrong doubles the time until the next one, up to the fetch timeout."""


def poll_unattached(q: Quorum, role: Unattached, now: Instant) -> None:
    if q.may_stand:
        if q.voters.is_only(q.config.key) or now >= role.election_deadline:
            become_prospective(q, now)
            return
        q.wake(role.election_deadline)
    ask_anybody(q, now)


def poll_follower(q: Quorum, role: Follower, now: Instant) -> None:
    if q.may_stand:
        stands_at = role.fetch_deadline if now < role.fetch_deadline else _turn_at(q, role)
        asks_nothing = role.has_fetched and waits_for_disk(q)
        if now >= stands_at and not asks_nothing and (q.silence_counts or not role.has_fetched):
            become_prospective(q, now)
            return
        if not asks_nothing:
            q.wake(stands_at)
    if waits_for_disk(q):
        return
    if role.snapshot is not None and role.snapshot.written:
        return
    endpoint = q.leader_endpoint(q.config.listener)
    assert endpoint is not None, "a follower can reach its leader"
    if q.calls.is_busy(endpoint, Lane.FETCH):
        return
    request = _next_fetch(q, q.config.fetch_max_wait_ms) if role.snapshot is None else next_chunk(q, role.snapshot)
    if not q.try_send(
        now, Lane.FETCH, role.leader_id, endpoint=endpoint, request=request, timeout_ms=q.config.request_timeout_ms
    ):
        ask_anybody(q, now, but=endpoint)


def waits_for_disk(q: Quorum) -> bool:
    """It asks for nothing before all that it has is on its disk. Meanwhile it is its own disk that keeps it waiting,
    not its leader.
    """
    return q.config.durable_fetch and q.log.flushed_offset < q.log.end_offset


def on_disk_caught_up(q: Quorum, role: Follower, now: Instant) -> None:
    """It asks now, and the leader has the whole fetch timeout to answer."""
    if role.has_fetched:
        role.fetch_deadline = q.after(now, q.config.fetch_timeout_ms)


def on_held_up(q: Quorum, role: Follower, seconds: float, now: Instant) -> None:
    """What the leader said meanwhile was heard before; if it said nothing, the time begins when there is somebody to
    hear it.
    """
    if role.has_fetched:
        whole = q.after(now, q.config.fetch_timeout_ms)
        role.fetch_deadline = max(role.fetch_deadline, Instant(min(whole, role.fetch_deadline + seconds)))


def ask_anybody(q: Quorum, now: Instant, but: Endpoint | None = None) -> None:
    """Fetch from the next of the bootstrap servers and voters, one at a time."""
    if q.calls.any_busy(Lane.FETCH):
        return
    voters: list[tuple[NodeId | None, Endpoint]] = [
        (voter.key.node_id, endpoint)
        for voter in q.others()
        if (endpoint := voter.endpoint(q.config.listener)) is not None
    ]
    known = {endpoint for _, endpoint in voters} | {endpoint for _, endpoint in q.config.listeners}
    targets = voters + [(None, endpoint) for endpoint in q.config.bootstrap if endpoint not in known]
    targets = [target for target in targets if target[1] != but]
    for _ in targets:
        q.rotation += 1
        node_id, endpoint = targets[q.rotation % len(targets)]
        if q.try_send(
            now,
            Lane.FETCH,
            node_id,
            endpoint=endpoint,
            request=_next_fetch(q, 0),
            timeout_ms=q.config.request_timeout_ms,
        ):
            return


def _next_fetch(q: Quorum, max_wait_ms: int) -> FetchRequest:
    return FetchRequest(
        q.config.key,
        q.epoch,
        q.log.end_offset,
        last_epoch=q.log.last_epoch,
        high_watermark=HIGH_WATERMARK_UNKNOWN if q.high_watermark is None else q.high_watermark,
        max_wait_ms=max_wait_ms,
        max_bytes=q.config.fetch_max_bytes,
    )


def on_fetch_response(
    q: Quorum, asked: FetchRequest, sender: NodeId | None, response: FetchResponse, now: Instant
) -> bool:
    """The common part of the answer was handled; it is of our epoch and without error. False: it brought nothing.

    What cannot be taken is no sign of life: who gets nothing else stands in the end, and pre-vote decides who is mad.
    """
    role = q.role
    if not isinstance(role, Follower) or sender != role.leader_id:
        return False
    if response.diverging is not None:
        _cut(q, response)
    elif response.snapshot_id is not None:
        _start_snapshot(q, role, response)
    elif asked.offset != q.log.end_offset or response.damaged or (response.batches and not _take(q, response.batches)):
        return False
    else:
        _follow_high_watermark(q, response)
    role.fetch_deadline = q.after(now, q.config.fetch_timeout_ms)
    role.has_fetched = True
    role.losses = 0
    return True


def _cut(q: Quorum, response: FetchResponse) -> None:
    assert response.diverging is not None
    point = q.log.truncation_point(response.diverging)
    committed = q.committed_offset
    if point < committed:
        known = "the high watermark" if q.high_watermark == committed else "the snapshot that ends at"
        q.out.append(Fault(f"leader {response.leader_id} wants the log cut to {point}, below {known} {committed}"))
        return
    if point < q.log.end_offset:
        q.truncate(point)


def _start_snapshot(q: Quorum, role: Follower, response: FetchResponse) -> None:
    snapshot_id = response.snapshot_id
    assert snapshot_id is not None
    if snapshot_id.epoch < 0:
        q.note_once(f"leader {response.leader_id} offers an impossible snapshot {snapshot_id}: ignored")
        return
    if snapshot_id.offset <= (q.high_watermark or 0):
        q.note_once(f"leader {response.leader_id} offers snapshot {snapshot_id} for what this node has: ignored")
        return
    role.snapshot = FetchingSnapshot(snapshot_id)


def _take(q: Quorum, batches: tuple[LogBatch, ...]) -> bool:
    """Append what fits, if anything does: batches of a later epoch than ours wait until we know its leader."""
    taken: list[LogBatch] = []
    for batch in batches:
        if batch.epoch > q.epoch or batch.epoch < q.log.last_epoch or batch.base_offset != q.log.end_offset:
            break
        if not _voters_may_follow(q, batch):
            q.note_once(f"the leader sent voters that share no majority with those before them, at {batch.base_offset}")
            break
        q.note_batch(batch)
        taken.append(batch)
    if taken:
        q.out.append(Append(tuple(taken)))
    return bool(taken)


def _voters_may_follow(q: Quorum, batch: LogBatch) -> bool:
    """Consecutive sets of the log share a majority (RCF-12). Those of a bootstrap snapshot or a configuration may be
    any.
    """
    before = q.voters if q.history.latest_offset not in (None, BOOTSTRAP_OFFSET) else None
    for _, record in batch.control:
        if isinstance(record, VoterSet):
            if not record.ids or (before is not None and not record.overlaps(before)):
                return False
            before = record
    return True


def _follow_high_watermark(q: Quorum, response: FetchResponse) -> None:
    if response.high_watermark >= 0:
        q.raise_high_watermark(Offset(min(response.high_watermark, q.log.end_offset)))


# Losing the leader.


def on_fetch_failed(q: Quorum, sender: NodeId | None, why: Failure, now: Instant) -> None:
    if isinstance(q.role, Follower) and sender == q.role.leader_id and why in (Failure.REFUSED, Failure.DISCONNECTED):
        suspect(q, q.role, now)


def on_connection_lost(q: Quorum, endpoint: Endpoint, now: Instant) -> None:
    role = q.role
    if isinstance(role, Follower) and q.leader_endpoint(q.config.listener) == endpoint:
        suspect(q, role, now)


def suspect(q: Quorum, role: Follower, now: Instant) -> None:
    """The leader's process seems to have ended: stand soon, unless a fetch succeeds before.

    All followers notice at the same moment, so they take turns by their ids; without turns two would often split the
    vote.
    """
    role.has_fetched = False
    delay = q.config.suspicion_ms * (1 + 2 * _turn(q, role) + q.jitter() / 2) * (1 << min(role.losses, MAX_DOUBLINGS))
    role.fetch_deadline = min(role.fetch_deadline, q.after(now, delay))


def _turn(q: Quorum, role: Follower) -> int:
    """How many of the leader's followers come before this one."""
    return sum(1 for voter in q.others() if role.leader_id != voter.key.node_id < q.config.node_id)


def _turn_at(q: Quorum, role: Follower) -> Instant:
    """When this follower stands though its leader never said goodbye (frozen, or cut off): its followers heard it last
    at one moment.
    """
    stagger = q.config.fetch_stagger_ms if role.has_fetched else 0
    return q.after(role.fetch_deadline, stagger * _turn(q, role)) if stagger else role.fetch_deadline
