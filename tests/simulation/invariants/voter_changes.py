"""RCF-11, RCF-12 (KIP-853; thesis 4.1): voter sets change by one voter at a time, the next only after the last is
committed, and go with their record.

Any two sets that may both be acted by share a majority only then; the single-server change bug of 2015 (Ongaro,
raft-dev "bug in single-server membership changes") is what happens when a leader begins before a record of its own
epoch is committed.
"""

from __future__ import annotations

from itertools import pairwise

from controller_runtime.identifiers import NodeId, Offset
from controller_runtime.raft.roles import Leader
from controller_runtime.raft.voter_set import VoterSet
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class VoterChanges:
    def __init__(self) -> None:
        self.seen: dict[NodeId, tuple[VoterSet, int]] = {}

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        history = replica.voter_history
        if history.sets and history.sets[-1][0] >= replica.log.end_offset:
            raise Violation(
                f"n{machine.id} acts by the voters of offset {history.sets[-1][0]}, its log ends at "
                f"{replica.log.end_offset}"
            )
        state = (history.latest, len(history.sets))
        known = self.seen.get(machine.id)
        if known is not None and known[0] is state[0] and known[1] == state[1]:
            return
        self.seen[machine.id] = state
        self._check_steps(machine, history.sets, replica.role, replica.high_watermark)

    def _check_steps(
        self, machine: Machine, sets: list[tuple[Offset, VoterSet]], role: object, committed: Offset | None
    ) -> None:
        for (_, before), (offset, after) in pairwise(sets):
            mine, theirs = {v.key for v in before.voters}, {v.key for v in after.voters}
            if len(mine ^ theirs) > 1 and not _is_upgrade(before, after):
                raise Violation(f"n{machine.id} holds voters {after.ids} at {offset}, before {before.ids}: two changes")
        if (
            isinstance(role, Leader)
            and len(sets) > 1
            and sets[-2][0] >= (committed or 0)
            and sets[-1][0] >= role.epoch_start
        ):
            raise Violation(
                f"n{machine.id} changes the voters at {sets[-1][0]}, those of "
                f"{sets[-2][0]} are not committed ({committed})"
            )


def _is_upgrade(before: VoterSet, after: VoterSet) -> bool:
    """From ids alone to ids with directories."""
    return before.ids == after.ids
