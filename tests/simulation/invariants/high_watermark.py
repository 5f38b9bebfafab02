"""INV-03: a node's high watermark never decreases while it runs, and never passes its log's end."""

from __future__ import annotations

from controller_runtime.identifiers import NodeId, Offset
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class HighWatermark:
    def __init__(self) -> None:
        self.seen: dict[tuple[NodeId, int], Offset] = {}

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        now = replica.high_watermark or Offset(0)
        key = (machine.id, machine.boots)
        before = self.seen.get(key, Offset(0))
        if now < before:
            raise Violation(f"n{machine.id}: high watermark falls from {before} to {now}")
        if now > replica.log.end_offset:
            raise Violation(f"n{machine.id}: high watermark {now} beyond the log's end {replica.log.end_offset}")
        self.seen[key] = now
