"""FET-15: what a log calls flushed is on its disk: asked of the disk, not of the log (it also looks when nothing
crashes).
"""

from __future__ import annotations

from support.simulation.disk import SimFile
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class FlushedIsDurable:
    def after_step(self, world: World, machine: Machine) -> None:
        log = machine.log
        if log is None or log.flushed_offset < log.end_offset:
            return
        if log.flushed_offset > log.end_offset:
            raise Violation(f"n{machine.id} calls {log.flushed_offset} flushed, its log ends at {log.end_offset}")
        segment = log._log.segments[-1]
        held = 0
        if machine.disk.exists(segment.path):  # an empty one may still have to be made
            assert isinstance(segment.file, SimFile)
            held = segment.file.durable_size()
        if held < segment.size:
            raise Violation(
                f"n{machine.id} calls {log.flushed_offset} flushed, {held} of {segment.size} bytes are on its disk"
            )
