"""A controlled shutdown (KIP-631): a registered broker ends only when the controller has let it go, which fences it, or
does not know this registration any more. So nobody is told that a stopped broker leads.
"""

from __future__ import annotations

from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class LeavesWhenLetGo:
    def on_stop(self, world: World, machine: Machine) -> None:
        if machine.broker is None or machine.broker.epoch < 0:
            return
        registered = world.newest[1].cluster.brokers.get(machine.id)
        if registered is not None and registered.epoch == machine.broker.epoch and not registered.fenced:
            raise Violation(f"n{machine.id} stops, and the controllers think that it serves: {registered}")
