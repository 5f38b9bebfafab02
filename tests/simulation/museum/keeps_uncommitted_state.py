"""A leader that was deposed goes on with an image that holds what it wrote and nobody committed (QC-03)."""

from __future__ import annotations

import pytest

from controller_runtime.node.active.log_writer import LogWriter
from controller_runtime.node.quorum.part import QuorumPart

SOURCE = "class of defect: state machine not rolled back"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = QuorumPart.end_writing

    def end_writing(self: QuorumPart) -> None:
        if isinstance(self.writer, LogWriter):
            self.writer.committed_image = self.writer.image
        original(self)

    patch.setattr(QuorumPart, "end_writing", end_writing)
