"""Who may lead an epoch: asking, voting, counting, winning.

Safety rests on two promises a voter keeps across restarts: it votes at most once per epoch, and only for a log at least
as long as its own. Both are why `SaveElection` always precedes the reply that reveals the vote. Pre-vote (KIP-996) adds
liveness only: granting one changes nothing, so it may be generous whenever the leader seems gone.
"""

from __future__ import annotations

from typing import Final, assert_never

from controller_runtime.identifiers import NO_DIRECTORY, Epoch, Instant, NodeId, ReplicaKey
from controller_runtime.raft.effects import Fault, Lane, Reply
from controller_runtime.raft.epoch_claims import LAST_EPOCH, EpochClaim, hears_leader, judge, note_impostor
from controller_runtime.raft.messages import RaftError, VoteRequest, VoteResponse
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Ballot, Candidate, Follower, Leader, Prospective, Resigned, Unattached

BASE_BACKOFF_MS: Final = 50


def on_vote_request(q: Quorum, token: int, request: VoteRequest, now: Instant) -> None:
    if _is_malformed(request):
        return _answer(q, token, RaftError.INVALID_REQUEST)
    if request.epoch < q.epoch:
        return _answer(q, token, RaftError.FENCED_LEADER_EPOCH)
    if request.candidate.node_id == q.config.node_id:
        note_impostor(q, request.candidate)
    if request.epoch > q.epoch:
        match judge(q, request.epoch, request.candidate, now):
            case EpochClaim.BELIEVED:
                q.become_unattached(request.epoch, now)
            case EpochClaim.DISTURBS:
                # A plain no, in the epoch that was asked about: Kafka's candidates repeat what is answered from below
                # their epoch at once.
                q.out.append(Reply(token, VoteResponse(RaftError.NONE, request.epoch, None, granted=False)))
                return None
            case EpochClaim.TOO_FAR:
                return _answer(q, token, RaftError.UNKNOWN_LEADER_EPOCH)
    if not is_addressed_to(q, request.receiver):
        return _answer(q, token, RaftError.INVALID_VOTER_KEY)
    granted = _may_grant(q, request, now)
    if granted and not request.pre_vote:
        _cast_vote(q, request.candidate, now)
    return _answer(q, token, RaftError.NONE, granted=granted)


def _is_malformed(request: VoteRequest) -> bool:
    last = request.last
    if request.epoch < 0 or request.candidate.node_id < 0 or last.offset < 0 or last.epoch < 0:
        return True
    return last.epoch > request.epoch or (last.epoch == request.epoch and not request.pre_vote)


def is_addressed_to(q: Quorum, receiver: ReplicaKey | None) -> bool:
    """Whether a request that names its receiver means this node. Older versions name nobody."""
    if receiver is None or receiver.node_id < 0:
        return True
    return receiver.node_id == q.config.node_id and receiver.directory_id in (NO_DIRECTORY, q.config.directory_id)


def _may_grant(q: Quorum, request: VoteRequest, now: Instant) -> bool:
    if request.last.log_key < q.log.last.log_key or request.candidate.node_id == q.config.node_id:
        return False  # A second process with this node's id gets nothing: this one may have voted for itself.
    match q.role:
        case Unattached(leader_id=leader, voted=voted) | Prospective(leader_id=leader, voted=voted):
            return request.pre_vote or (is_same_vote(voted, request.candidate) if voted is not None else leader is None)
        case Follower():
            return request.pre_vote and not hears_leader(q, now)
        case Candidate() | Resigned():
            return request.pre_vote
        case Leader():
            return False
        case _ as unknown:
            assert_never(unknown)


def is_same_vote(voted: ReplicaKey, candidate: ReplicaKey) -> bool:
    """A vote recorded without a directory id is for the node id alone."""
    return voted.node_id == candidate.node_id and voted.directory_id in (NO_DIRECTORY, candidate.directory_id)


def _cast_vote(q: Quorum, candidate: ReplicaKey, now: Instant) -> None:
    """The vote is on disk before the answer leaves; having voted, give the candidate time to win."""
    role = q.role
    assert isinstance(role, Unattached | Prospective), f"{type(role).__name__} casts no vote"
    role.voted = candidate
    role.election_deadline = q.random_election_deadline(now)
    q.save()


def _answer(q: Quorum, token: int, error: RaftError, *, granted: bool = False) -> None:
    q.out.append(Reply(token, VoteResponse(error, q.epoch, q.leader_id, granted)))


# Standing.


def become_prospective(q: Quorum, now: Instant) -> None:
    """Ask whether this node could win. A sole voter has its answer already."""
    assert q.may_stand, "only a voter stands"
    role = q.role
    assert isinstance(role, Unattached | Follower | Candidate), f"{type(role).__name__} does not ask for pre-votes"
    losses = 0 if isinstance(role, Unattached) else role.losses
    listeners = q.leader_listeners() if isinstance(role, Follower) else ()
    leader = role.leader_id if isinstance(role, Unattached | Follower) else None
    silent = role.ballot.unreachable if isinstance(role, Candidate) else set() if leader is None else {leader}
    ballot = Ballot(granted={q.config.node_id}, unreachable=set(silent))
    deadline = q.random_election_deadline(now)
    q.enter(
        Prospective(
            q.epoch,
            deadline,
            ballot,
            leader_id=leader,
            leader_listeners=listeners,
            voted=q.vote_in(q.epoch),
            losses=losses,
        )
    )


def become_candidate(q: Quorum, now: Instant) -> None:
    """Vote for itself in the next epoch: on disk before the first request leaves."""
    role = q.role
    assert isinstance(role, Prospective), f"{type(role).__name__} does not become a candidate"
    if q.epoch >= LAST_EPOCH - 1:
        q.out.append(Fault(f"the epochs are used up: {q.epoch} is the last but one"))
        return
    ballot = Ballot(granted={q.config.node_id}, unreachable=set(role.ballot.unreachable))
    q.enter(Candidate(Epoch(q.epoch + 1), q.random_election_deadline(now), ballot, role.losses))


def count_losses(q: Quorum, now: Instant) -> None:
    """Give up as soon as the rejections decide it. Winning is noticed by `poll_prospective` and by `Replica`."""
    match q.role:
        case Prospective(ballot=ballot) if _has_lost(q, ballot):
            lose_pre_vote(q, now)
        case Candidate(ballot=ballot, lost=False) if _has_lost(q, ballot):
            _lose_vote(q, now)
        case _:
            pass


def has_won(q: Quorum, ballot: Ballot) -> bool:
    """Only members of the latest voter set count."""
    return len(ballot.granted.intersection(q.voters.ids)) >= q.voters.majority


def _has_lost(q: Quorum, ballot: Ballot) -> bool:
    """Somebody refuses, and without the unreachable ones (the leader that fell silent among them) the rest is no
    majority.
    """
    hopeless = (ballot.rejected | ballot.unreachable).intersection(q.voters.ids)
    return bool(ballot.rejected) and len(q.voters) - len(hopeless) < q.voters.majority


def lose_pre_vote(q: Quorum, now: Instant) -> None:
    """Back to the leader if there is one that can be reached; it may well be alive. If it stays silent, stand again
    soon.
    """
    role = q.role
    assert isinstance(role, Prospective), f"{type(role).__name__} lost no pre-vote"
    leader, listeners, losses = role.leader_id, role.leader_listeners, role.losses + 1
    if leader is not None and leader != q.config.node_id and q.reachable(leader, listeners):
        q.become_follower(q.epoch, leader, listeners, now)
        assert isinstance(q.role, Follower)
        q.role.losses = losses
        q.role.fetch_deadline = min(q.role.fetch_deadline, _backed_off(q, losses, now))
    else:
        q.become_unattached(q.epoch, now, leader)


def _lose_vote(q: Quorum, now: Instant) -> None:
    """Stand again after a random back-off that grows with every loss, at the latest when the election timer ends."""
    role = q.role
    assert isinstance(role, Candidate), f"{type(role).__name__} lost no vote"
    role.lost = True
    role.losses += 1
    role.election_deadline = min(role.election_deadline, _backed_off(q, role.losses, now))


def _backed_off(q: Quorum, losses: int, now: Instant) -> Instant:
    backoff = min(q.config.election_backoff_max_ms, BASE_BACKOFF_MS << min(losses - 1, 10))
    return q.after(now, backoff * (1 + q.jitter()))


def poll_prospective(q: Quorum, role: Prospective, now: Instant) -> None:
    if q.may_stand and has_won(q, role.ballot):
        become_candidate(q, now)
        return
    if not q.may_stand or now >= role.election_deadline:
        lose_pre_vote(q, now)
        return
    q.wake(role.election_deadline)
    _request_votes(q, role.ballot, now, pre_vote=True)


def poll_candidate(q: Quorum, role: Candidate, now: Instant) -> None:
    if not q.may_stand:
        q.become_unattached(q.epoch, now)
        return
    if now >= role.election_deadline:
        become_prospective(q, now)
        return
    q.wake(role.election_deadline)
    if not role.lost:
        _request_votes(q, role.ballot, now, pre_vote=False)


def _request_votes(q: Quorum, ballot: Ballot, now: Instant, *, pre_vote: bool) -> None:
    answered = ballot.granted | ballot.rejected
    for voter in q.others():
        endpoint = voter.endpoint(q.config.listener)
        if voter.key.node_id in answered or endpoint is None:
            continue
        request = VoteRequest(q.config.key, q.epoch, q.log.last, pre_vote, voter.key)
        q.try_send(
            now,
            Lane.CONTROL,
            voter.key.node_id,
            endpoint=endpoint,
            request=request,
            timeout_ms=q.config.request_timeout_ms,
        )


def on_vote_response(q: Quorum, voter: NodeId | None, asked: VoteRequest, response: VoteResponse, now: Instant) -> None:
    """The common part of the answer was handled; it is of our epoch and without error."""
    role = q.role
    if voter is None or not isinstance(role, Prospective if asked.pre_vote else Candidate):
        return
    assert isinstance(role, Prospective | Candidate)
    role.ballot.record(voter, granted=response.granted)
    count_losses(q, now)


def on_vote_failed(q: Quorum, voter: NodeId | None, asked: VoteRequest, now: Instant) -> None:
    """No answer. It is asked again after the back-off, unless the vote is lost without it."""
    role = q.role
    if voter is None or not isinstance(role, Prospective if asked.pre_vote else Candidate):
        return
    assert isinstance(role, Prospective | Candidate)
    role.ballot.unreachable.add(voter)
    count_losses(q, now)


def on_pre_vote_unsupported(q: Quorum, now: Instant) -> None:
    """A voter of before KIP-996: stand as those nodes do, without asking first."""
    if isinstance(q.role, Prospective):
        become_candidate(q, now)
