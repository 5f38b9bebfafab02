"""A broker's epoch names one run of it (KIP-631, KIP-903): no two runs have the same one, and a later run has a higher
one. What an earlier run asked for can be told from what this one does.
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class BrokerEpochs:
    def __init__(self) -> None:
        self.newest: dict[NodeId, tuple[int, int]] = {}
        """Of each broker: its newest epoch, and the run that had it."""

    def after_step(self, world: World, machine: Machine) -> None:
        if machine.broker is None or machine.broker.epoch < 0:
            return
        epoch, run = self.newest.get(machine.id, (-1, 0))
        now = machine.broker.epoch
        if machine.boots != run and now <= epoch:
            raise Violation(f"n{machine.id} has epoch {now}, an earlier run of it had {epoch}")
        self.newest[machine.id] = (now, machine.boots)
