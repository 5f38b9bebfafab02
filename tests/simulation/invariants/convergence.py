"""ValuesNotStuck: once everything is healed, all nodes hold the same log and the same image of the cluster."""

from __future__ import annotations

from controller_runtime.identifiers import NodeId, Offset
from controller_runtime.metadata.image import MetadataImage
from support.simulation.world import Violation, World


class Convergence:
    def at_end(self, world: World) -> None:
        images: dict[Offset, tuple[NodeId, MetadataImage]] = {}
        for machine in world.up:
            assert machine.node is not None
            other = images.setdefault(machine.node.image_offset, (machine.id, machine.node.image))
            if other[1] != machine.node.image:
                raise Violation(f"n{machine.id} and n{other[0]} differ at offset {machine.node.image_offset}")
