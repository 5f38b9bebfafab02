"""Leading an epoch: its first records, telling the others, noticing that they are gone, and handing over.

A leader that no majority has fetched from for one and a half fetch timeouts resigns: somebody else may lead already,
and its clients should look for that one. Resigning tells the voters in the order of how much they hold, so that the
best one stands at once.
"""

from __future__ import annotations

from controller_runtime.identifiers import NO_DIRECTORY, Epoch, Instant, NodeId, Offset, ReplicaKey
from controller_runtime.raft.effects import AppendControl, Lane, Reply
from controller_runtime.raft.election import is_addressed_to
from controller_runtime.raft.epoch_claims import EpochClaim, judge, note_impostor
from controller_runtime.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    ControlRecord,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    KRaftVersion,
    LeaderChange,
    RaftError,
)
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replication import poll_parked
from controller_runtime.raft.roles import Candidate, Follower, Leader, Progress, Resigned, Unattached
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET


def become_leader(q: Quorum, now: Instant) -> None:
    """Write the epoch's first batch: committing it commits everything before it (thesis 3.6.2)."""
    role = q.role
    assert isinstance(role, Candidate), f"{type(role).__name__} does not become the leader"
    me = q.config.node_id
    granting = (me, *sorted(role.ballot.granted.intersection(q.voters.ids) - {me}))
    leader = Leader(q.epoch, q.log.end_offset, granting)
    q.enter(leader)
    append_control(q, first_records(q, granting))
    sync_voters(q, leader, now)


def first_records(q: Quorum, granting: tuple[NodeId, ...]) -> tuple[ControlRecord, ...]:
    """Voters that only the bootstrap snapshot knows go into the log, and so does a change of this node's own entry."""
    change = LeaderChange(q.config.node_id, q.voters.ids, granting)
    if q.history.kraft_version == 0:
        return (change,)
    own = q.voters.match(q.config.key)
    voters = q.voters.updated(q.config.voter) if own is not None and q.config.listeners else q.voters
    if q.history.latest_offset == BOOTSTRAP_OFFSET:
        return (change, KRaftVersion(q.history.kraft_version), voters)
    return (change,) if voters == q.voters else (change, voters)


def append_control(q: Quorum, records: tuple[ControlRecord, ...]) -> None:
    base = q.log.end_offset
    q.log.append(base, Offset(base + len(records)), q.epoch)
    for index, record in enumerate(records):
        q.note_control(Offset(base + index), record)
    q.out.append(AppendControl(base, q.epoch, records))


def sync_voters(q: Quorum, leader: Leader, now: Instant) -> None:
    """Keep one `Progress` per remote voter of the latest set; a replica keeps what is known of it when it changes
    sides.
    """
    known = leader.voters
    leader.voters = {}
    for voter in q.others():
        node_id = voter.key.node_id
        progress = known.pop(node_id, None)
        if progress is None or progress.key != voter.key:
            progress = leader.observers.pop(voter.key, None) or Progress(voter.key, last_contact=now, next_begin=now)
        progress.listeners = voter.listeners
        leader.voters[node_id] = progress
    for left in known.values():
        if left.key.directory_id != NO_DIRECTORY and q.voters.match(left.key) is None:
            leader.observers[left.key] = left


def poll_leader(q: Quorum, leader: Leader, now: Instant) -> None:
    deadline = check_quorum_deadline(q, leader)
    if deadline is not None:
        if now >= deadline and q.silence_counts:
            q.note(f"no majority fetched from the leader of epoch {leader.epoch} in time: resigning")
            resign(q, leader, now)
            return
        q.wake(deadline)
    poll_parked(q, leader, now)
    for progress in leader.voters.values():
        _begin_epoch(q, progress, now)


def check_quorum_deadline(q: Quorum, leader: Leader) -> Instant | None:
    """When the last of the majority will have been silent for too long; None if this node alone is a majority."""
    needed = q.voters.majority - (1 if q.is_voter else 0)
    if needed <= 0:
        return None
    contacts = sorted((progress.last_contact for progress in leader.voters.values()), reverse=True)
    return q.after(contacts[needed - 1], q.config.fetch_timeout_ms * 1.5)


def on_held_up(leader: Leader, seconds: float, now: Instant) -> None:
    """Nobody was silent while this node did not run: perhaps all that time it owed the answer to a fetch."""
    for progress in leader.voters.values():
        progress.last_contact = Instant(min(now, progress.last_contact + seconds))


def _begin_epoch(q: Quorum, progress: Progress, now: Instant) -> None:
    """Tell a voter who leads: at once, then every half fetch timeout until it fetches."""
    endpoint = dict(progress.listeners).get(q.config.listener)
    if endpoint is None:
        return
    if now < progress.next_begin:
        q.wake(progress.next_begin)
        return
    request = BeginQuorumEpochRequest(q.config.node_id, q.epoch, q.config.listeners, progress.key)
    if q.try_send(
        now,
        Lane.CONTROL,
        progress.key.node_id,
        endpoint=endpoint,
        request=request,
        timeout_ms=q.config.request_timeout_ms,
    ):
        progress.next_begin = q.after(now, q.config.fetch_timeout_ms / 2)


def on_begin_request(q: Quorum, token: int, request: BeginQuorumEpochRequest, now: Instant) -> None:
    error = _take_leader(q, request, now)
    q.out.append(Reply(token, BeginQuorumEpochResponse(error, q.epoch, q.leader_id)))


def _take_leader(q: Quorum, request: BeginQuorumEpochRequest, now: Instant) -> RaftError:
    if request.epoch < q.epoch:
        return RaftError.FENCED_LEADER_EPOCH
    if request.leader_id < 0 or request.epoch < 0:
        return RaftError.INVALID_REQUEST
    if request.leader_id == q.config.node_id:
        note_impostor(q, ReplicaKey(request.leader_id))
        return RaftError.FENCED_LEADER_EPOCH
    if (
        request.epoch > q.epoch
        and judge(q, request.epoch, ReplicaKey(request.leader_id), now) is not EpochClaim.BELIEVED
    ):
        return RaftError.UNKNOWN_LEADER_EPOCH
    role = q.role
    if request.epoch == q.epoch and isinstance(role, Leader | Resigned):
        q.note_once(f"node {request.leader_id} says it leads epoch {q.epoch}, which this node won: ignored")
        return RaftError.FENCED_LEADER_EPOCH
    if request.epoch == q.epoch and q.leader_id not in (None, request.leader_id):
        q.note_once(
            f"two leaders of epoch {q.epoch} are reported: {q.leader_id} and {request.leader_id}; the later is ignored"
        )
        return RaftError.FENCED_LEADER_EPOCH
    if isinstance(role, Follower) and request.epoch == q.epoch:
        if len(request.listeners) > len(role.leader_listeners):
            role.leader_listeners = request.listeners
    elif q.reachable(request.leader_id, request.listeners):
        q.become_follower(request.epoch, request.leader_id, request.listeners, now)
    elif request.epoch > q.epoch or q.leader_id is None:
        q.become_unattached(request.epoch, now, request.leader_id)
    # Who leads is true whomever the request was meant for: a node with a new disk learns it too.
    return RaftError.NONE if is_addressed_to(q, request.receiver) else RaftError.INVALID_VOTER_KEY


# Handing over.


def resign(q: Quorum, leader: Leader, now: Instant) -> None:
    """Stop leading without raising the epoch; followers learn it from EndQuorumEpoch, those parked at once."""
    preferred = sorted(leader.voters.values(), key=lambda p: (-(p.end_offset or 0), p.key))
    keys = tuple(progress.key for progress in preferred)
    voted = q.vote_in(q.epoch)
    q.enter(Resigned(q.epoch, q.random_election_deadline(now), keys, {key.node_id for key in keys}, voted))


def poll_resigned(q: Quorum, role: Resigned, now: Instant) -> None:
    if (q.is_voter and q.voters.is_only(q.config.key)) or now >= role.election_deadline:
        q.become_unattached(Epoch(q.epoch + 1), now)
        return
    q.wake(role.election_deadline)
    for voter in q.others():
        endpoint = voter.endpoint(q.config.listener)
        if voter.key.node_id in role.unacknowledged and endpoint is not None:
            request = EndQuorumEpochRequest(q.config.node_id, q.epoch, role.preferred)
            q.try_send(
                now,
                Lane.CONTROL,
                voter.key.node_id,
                endpoint=endpoint,
                request=request,
                timeout_ms=q.config.request_timeout_ms,
            )


def on_end_response(q: Quorum, voter: NodeId | None) -> None:
    if isinstance(q.role, Resigned) and voter is not None:
        q.role.unacknowledged.discard(voter)


def on_end_request(q: Quorum, token: int, request: EndQuorumEpochRequest, now: Instant) -> None:
    error = _release_leader(q, request, now)
    q.out.append(Reply(token, EndQuorumEpochResponse(error, q.epoch, q.leader_id)))


def _release_leader(q: Quorum, request: EndQuorumEpochRequest, now: Instant) -> RaftError:
    if request.epoch < q.epoch:
        return RaftError.FENCED_LEADER_EPOCH
    if request.leader_id < 0 or request.epoch < 0:
        return RaftError.INVALID_REQUEST
    if request.epoch > q.epoch:
        if judge(q, request.epoch, ReplicaKey(request.leader_id), now) is not EpochClaim.BELIEVED:
            return RaftError.UNKNOWN_LEADER_EPOCH
        q.learn(request.epoch, request.leader_id, None, now)
    role = q.role
    stands_at = q.after(now, _turn_ms(q, request.preferred))
    match role:
        case Follower(leader_id=request.leader_id):
            role.fetch_deadline = stands_at
            role.has_fetched = False
        case Unattached(leader_id=request.leader_id):
            role.election_deadline = stands_at
        case _:
            pass
    return RaftError.NONE


def _turn_ms(q: Quorum, preferred: tuple[ReplicaKey, ...]) -> int:
    """The first stands at once; each later one waits twice as long as the one before it; who is not named waits
    longest.
    """
    longest = q.config.election_backoff_max_ms
    ids = [key.node_id for key in preferred]
    if q.config.node_id not in ids:
        return longest
    position = ids.index(q.config.node_id)
    return 0 if position == 0 else min(longest, (longest >> (len(ids) - 1)) << (position - 1))
