"""What a replica is after a restart, decided from what its disk says (kraft-facts 3.2).

Never a leader: who led the stored epoch resigns from it, because what it promised in that epoch is not in memory any
more.
"""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.identifiers import Epoch, Instant
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Ballot, Candidate, Follower, Resigned, Unattached
from controller_runtime.raft.transitions import INITIAL
from controller_runtime.raft.voter_set import VoterHistory


def restore(
    config: RaftConfig,
    stored: ElectionState | None,
    log: LogView,
    history: VoterHistory,
    now: Instant,
    jitter: Callable[[], float],
) -> Quorum:
    """The replica as it begins. Without `quorum-state` it has never voted and knows no leader."""
    state = stored or ElectionState(Epoch(0))
    deadline = Instant(now + config.first_election_timeout_ms * (1 + jitter()) / 1000)
    quorum = Quorum(config, log, history, Unattached(state.epoch, deadline, state.leader_id, state.voted_key), jitter)
    quorum.saved = stored
    if state.epoch < log.last_epoch:
        quorum.role = Unattached(log.last_epoch, deadline)
    elif quorum.may_stand and state.leader_id == config.node_id:
        keys = tuple(voter.key for voter in quorum.others())
        ends = quorum.random_election_deadline(now)
        quorum.role = Resigned(state.epoch, ends, keys, {key.node_id for key in keys}, state.voted_key)
    elif quorum.may_stand and _voted_for_itself(config, state):
        ballot = Ballot(granted={config.node_id})
        quorum.role = Candidate(state.epoch, quorum.random_election_deadline(now), ballot)
    elif state.leader_id == config.node_id:
        quorum.role = Unattached(state.epoch, deadline, None, state.voted_key)
    elif state.leader_id is not None and quorum.reachable(state.leader_id, ()):
        fetch_deadline = quorum.after(now, config.fetch_timeout_ms)
        quorum.role = Follower(state.epoch, state.leader_id, (), fetch_deadline, state.voted_key)
    assert type(quorum.role) in INITIAL, f"no restart begins as {type(quorum.role).__name__}"
    quorum.save()
    return quorum


def _voted_for_itself(config: RaftConfig, state: ElectionState) -> bool:
    voted = state.voted_key
    return voted is not None and state.leader_id is None and voted.node_id == config.node_id
