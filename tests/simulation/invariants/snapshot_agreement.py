"""INV-08, SNP-14: two snapshots with one name say the same, whoever wrote them: the same records, the same voters."""

from __future__ import annotations

from controller_runtime.identifiers import NodeId, OffsetAndEpoch
from controller_runtime.node.quorum.log_reading import BOOTSTRAP_SNAPSHOT, snapshot_voters
from controller_runtime.protocol.record_batch import decode_batches
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class SnapshotAgreement:
    def at_end(self, world: World) -> None:
        known: dict[OffsetAndEpoch, tuple[NodeId, object]] = {}
        for machine in world.up:
            assert machine.log is not None
            for snapshot_id in machine.log.snapshots():
                if snapshot_id == BOOTSTRAP_SNAPSHOT:
                    continue
                said = saying(machine, snapshot_id)
                other = known.setdefault(snapshot_id, (machine.id, said))
                if other[1] != said:
                    raise Violation(f"n{machine.id} and n{other[0]} hold different snapshots {snapshot_id}")


def saying(machine: Machine, snapshot_id: OffsetAndEpoch) -> object:
    """The records and voters of a snapshot, without the clocks in it."""
    log = machine.log
    assert log is not None
    data = log.read_snapshot(snapshot_id, 0, log.snapshot_size(snapshot_id) or 0)
    values = [record.value for batch in decode_batches(data) if not batch.header.is_control for record in batch.records]
    return values, snapshot_voters(log, snapshot_id)
