"""INV-08 (NoLogDivergence): whatever two nodes hold below their high watermarks is the same, byte for byte,
for ever.
"""

from __future__ import annotations

from zlib import crc32

from controller_runtime.identifiers import NodeId, Offset
from controller_runtime.protocol.record_batch import batch_headers
from controller_runtime.storage.errors import CorruptFile
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class LogAgreement:
    def __init__(self) -> None:
        self.committed: dict[int, tuple[int, int, int]] = {}
        """Base offset of a committed batch -> its end, epoch and checksum, as the first node that committed
        it had it.
        """
        self.position: dict[tuple[NodeId, int], Offset] = {}

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        assert machine.log is not None
        high_watermark = machine.node.meta.high_watermark
        key = (machine.id, machine.boots)
        at = max(self.position.get(key, Offset(0)), machine.log.start_offset)
        # Effects that a running save holds back are not in the log yet.
        bound = min(high_watermark, machine.log.end_offset)
        while at < bound:
            try:
                data = machine.log.read(at, 1 << 20)
            except CorruptFile:
                if not machine.disk.is_rotten:
                    raise
                return
            for header in batch_headers(data):
                if header.next_offset > bound:
                    self.position[key] = at
                    return
                raw = data[header.position : header.end_position]
                told = (header.next_offset, header.partition_leader_epoch, crc32(raw))
                known = self.committed.setdefault(header.base_offset, told)
                if known != told:
                    raise Violation(f"n{machine.id} holds {told} at {header.base_offset}, committed was {known}")
                at = Offset(header.next_offset)
        self.position[key] = at
