"""A broker is unfenced only after it has replayed its own registration (KIP-631: `CurrentMetadataOffset`), so that it
never serves by an image from before it.
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.cluster import ClusterImage
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class UnfencesCaughtUp:
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
            if broker.node is None or registered is None or registered.fenced:
                continue
            if registered.incarnation_id == broker.incarnation and broker.node.image_offset <= registered.epoch:
                raise Violation(
                    f"n{broker.id} is unfenced by n{machine.id}, it has replayed up to {broker.node.image_offset}, "
                    f"its registration is at {registered.epoch}"
                )
