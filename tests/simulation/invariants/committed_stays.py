"""No node ever cuts what is committed (Raft paper 5.3, 5.4: a committed record is in every later leader's log, so
nothing can conflict with it; SNP-10).

Two logs that hold a record of one epoch at one offset agree up to there; so the newest committed record's offset and
epoch tell whether a log held it.
"""

from __future__ import annotations

from bisect import bisect_right

from controller_runtime.identifiers import Epoch, NodeId, Offset
from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World

Seen = tuple[int, Offset, tuple[tuple[Epoch, Offset], ...]]


class CommittedStays:
    def __init__(self) -> None:
        self.newest = (0, 0)
        """Where the newest committed record ends, and its epoch."""
        self.seen: dict[NodeId, Seen] = {}
        """Of each node: its boot, the end of its log, and where its epochs begin."""

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        role, view = replica.role, replica.log
        if isinstance(role, Leader) and role.high_watermark is not None and role.high_watermark > self.newest[0]:
            self.newest = (role.high_watermark, role.epoch)
        before = self.seen.get(machine.id)
        if before is not None and before[0] == machine.boots and view.end_offset < before[1]:
            self._check_cut(machine, before, view.end_offset)
        self.seen[machine.id] = (machine.boots, view.end_offset, tuple(view.epoch_starts))

    def _check_cut(self, machine: Machine, before: Seen, end: Offset) -> None:
        committed, epoch = self.newest
        _, old_end, starts = before
        if not end < committed <= old_end:
            return
        place = bisect_right(starts, committed - 1, key=lambda entry: int(entry[1])) - 1
        if place >= 0 and starts[place][0] == epoch:
            raise Violation(
                f"n{machine.id} cuts its log from {old_end} to {end}, it held what is committed to {committed}"
            )
