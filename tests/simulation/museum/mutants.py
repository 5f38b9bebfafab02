"""A museum of broken nodes. Each mutant breaks one rule of the protocol; the simulator must notice every one of them.

A mutant is a function that patches production code for one test. If one survives, the simulator has become blind, not the rule superfluous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from controller_runtime.identifiers import Instant, Offset, ReplicaKey
from controller_runtime.node.controller_node import NodeConfig
from controller_runtime.node.pending import PendingReplies, PendingReply
from controller_runtime.raft import election, leadership, quorum, replication
from controller_runtime.raft.effects import SaveElection
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import VoteRequest
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine

Mutant = Callable[[pytest.MonkeyPatch], None]


def forgets_its_vote(patch: pytest.MonkeyPatch) -> None:
    """The vote is in memory only: a restart may vote again (RFT-12)."""

    def cast(q: Quorum, candidate: ReplicaKey, now: Instant) -> None:
        q.role.voted = candidate  # type: ignore[union-attr]

    patch.setattr(election, "_cast_vote", cast)


def votes_for_everybody(patch: pytest.MonkeyPatch) -> None:
    """One vote per epoch, or two (RFT-13)."""
    patch.setattr(election, "is_same_vote", lambda *_: True)


def votes_for_shorter_logs(patch: pytest.MonkeyPatch) -> None:
    """A candidate need not hold what is committed (RFT-16)."""
    original = election._may_grant

    def may_grant(q: Quorum, request: VoteRequest) -> bool:
        return original(q, replace(request, last=q.log.last))

    patch.setattr(election, "_may_grant", may_grant)


def leader_counts_what_is_not_on_its_disk(patch: pytest.MonkeyPatch) -> None:
    """Appended is taken for durable (FET-15)."""
    original = replication.advance_leader

    def advance(q: Quorum, leader: Leader) -> None:
        honest, q.log.flushed_offset = q.log.flushed_offset, q.log.end_offset
        original(q, leader)
        q.log.flushed_offset = honest

    patch.setattr(replication, "advance_leader", advance)
    patch.setattr(leadership, "advance_leader", advance)


def follower_acknowledges_before_its_disk_does(patch: pytest.MonkeyPatch) -> None:
    """The next Fetch says more than the disk holds (FET-15)."""
    original = Machine._config

    def config(self: Machine) -> NodeConfig:
        honest = original(self)
        return replace(honest, raft=replace(honest.raft, durable_fetch=False))

    patch.setattr(Machine, "_config", config)


def replies_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """A client hears of a topic that may vanish (QC-02)."""

    def release(self: PendingReplies, _: Offset) -> list[PendingReply]:
        return self.take_all()

    patch.setattr(PendingReplies, "release", release)


def commits_records_of_earlier_epochs_by_counting(patch: pytest.MonkeyPatch) -> None:
    """Figure 8 of the Raft paper: what a majority holds is not enough (FET-09)."""
    original = replication.advance_leader

    def advance(q: Quorum, leader: Leader) -> None:
        honest, leader.epoch_start = leader.epoch_start, Offset(-1)
        original(q, leader)
        leader.epoch_start = honest

    patch.setattr(replication, "advance_leader", advance)
    patch.setattr(leadership, "advance_leader", advance)


def keeps_what_the_leader_does_not_have(patch: pytest.MonkeyPatch) -> None:
    """A follower takes any batch that fits by offset: logs diverge (NoLogDivergence)."""
    from controller_runtime.raft.log_view import Valid

    patch.setattr(LogView, "validate", lambda *_: Valid())


def epochs_fall_back_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """Nothing of an election is kept on disk (INV-01)."""
    original = quorum.Quorum.save

    def save(self: Quorum) -> None:
        original(self)
        self.out = [effect for effect in self.out if not isinstance(effect, SaveElection)]

    patch.setattr(quorum.Quorum, "save", save)


MUTANTS: Final[tuple[Mutant, ...]] = (
    forgets_its_vote,
    votes_for_everybody,
    votes_for_shorter_logs,
    leader_counts_what_is_not_on_its_disk,
    follower_acknowledges_before_its_disk_does,
    replies_before_the_commit,
    commits_records_of_earlier_epochs_by_counting,
    keeps_what_the_leader_does_not_have,
    epochs_fall_back_after_a_restart,
)


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", value))
