"""A broker is unfenced only after it has recovered every log that it found at its start (KIP-631, BrokerState 2): what
it serves afterwards has been looked at.

Who says so is the disk: the logs that lay there, but for those that were set aside or deleted, were opened or refused.
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.cluster import ClusterImage
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class UnfencesRecovered:
    def __init__(self) -> None:
        self.seen: dict[NodeId, ClusterImage] = {}

    def after_step(self, world: World, machine: Machine) -> None:
        """By every node's image: none of them knows of an unfencing before it is committed."""
        assert machine.node is not None
        cluster = machine.node.image.cluster
        if self.seen.get(machine.id) is cluster:
            return
        self.seen[machine.id] = cluster
        for broker in world.brokers:
            registered = cluster.brokers.get(broker.id)
            if broker.data is None or registered is None or registered.fenced:
                continue
            if registered.incarnation_id == broker.incarnation and broker.data.unrecovered:
                left = len(broker.data.unrecovered)
                raise Violation(f"n{broker.id} is unfenced by n{machine.id}, {left} of its logs are not recovered")
