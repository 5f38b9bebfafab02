"""A decision of thousands of records, made in pieces, so that consensus is never kept waiting for it.

It is planned, encoded and replayed beside the log, on the image that was the newest when it began; only when all of it is ready does it get its
offsets and goes into the log, as one batch. Until then nothing else may be decided: what it has seen has to be the newest still.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice

from controller_runtime.controller.decision import Decision
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.node.pending import Asker

PIECE_RECORDS = 250
"""How many records are encoded and replayed at once: a few milliseconds."""


class LongDecision:
    def __init__(self, asker: Asker, plan: Generator[None, None, Decision], base: MetadataImage) -> None:
        self.asker = asker
        self.builder: MetadataBuilder = base.builder()
        """What the records make of `base`; whole when `advance` says so."""
        self.values: list[bytes] = []
        """The records as the log has them."""
        self._plan = plan
        self._decision: Decision | None = None
        self._left: Iterator[VersionedRecord] = iter(())

    @property
    def decision(self) -> Decision:
        assert self._decision is not None, "it is still being planned"
        return self._decision

    def advance(self) -> bool:
        """One more piece. True when nothing is left to do."""
        if self._decision is None:
            self._plan_on()
            return self._decision is not None and not self._decision.records
        for record, version in islice(self._left, PIECE_RECORDS):
            self.values.append(encode_record(record, version))
            replay(self.builder, record)
        return len(self.values) == len(self._decision.records)

    def _plan_on(self) -> None:
        try:
            next(self._plan)
        except StopIteration as done:
            self._decision = done.value
            self._left = iter(self.decision.records)
