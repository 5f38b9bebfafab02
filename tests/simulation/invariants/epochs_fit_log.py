"""FET-07, FET-08 (KAFKA-10706): the epochs that a node finds in its log ascend, begin inside of it, and are those of
the log on its disk.
"""

from __future__ import annotations

from itertools import pairwise

from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class EpochsFitLog:
    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        assert machine.log is not None
        view = machine.node.meta.replica.log
        starts = view.epoch_starts
        if starts and not view.start_offset <= starts[0][1] <= starts[-1][1] < view.end_offset:
            raise Violation(f"n{machine.id} holds epochs {starts}, its log is {view.start_offset}..{view.end_offset}")
        if any(after[0] <= before[0] or after[1] <= before[1] for before, after in pairwise(starts)):
            raise Violation(f"n{machine.id} holds epochs {starts}, which do not ascend")
        if not machine.is_holding and tuple(starts) != machine.log.epoch_starts():
            raise Violation(f"n{machine.id} holds epochs {starts}, its disk has {machine.log.epoch_starts()}")
