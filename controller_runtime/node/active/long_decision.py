"""A decision made in pieces, so that consensus and heartbeats are never kept waiting for it.

It is planned on the image that was the newest when it began. What is not atomic is written piece by piece. What is
atomic is encoded and replayed beside the log, and only when all of it is ready it gets its offsets and goes into the
log as one batch. Until its end nothing else may be decided: what it has seen has to be the newest still, but for its
own pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces
from controller_runtime.identifiers import Offset
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.parts.asker import Asker
from controller_runtime.protocol.records import write_values


class LongDecision:
    def __init__(self, asker: Asker | None, plan: Pieces, base: MetadataImage) -> None:
        self.asker = asker
        """None: the active controller's own work."""
        self.base = base
        self.builder: MetadataBuilder | None = None
        """What the records of an atomic decision make of `base`; whole when it is `ready`."""
        self.count = 0
        """Of the records of an atomic decision: how many are encoded and replayed."""
        self.size = 0
        """Bytes of their values."""
        self._written: list[bytes] = []
        self._plan = plan
        self._begun = False
        self._decision: Decision | None = None
        self._left: Iterator[VersionedRecord] = iter(())

    @property
    def decision(self) -> Decision:
        assert self._decision is not None, "it is still being planned"
        return self._decision

    @property
    def ready(self) -> bool:
        """Nothing is left but to write its end and to answer."""
        return self._decision is not None and (self.builder is None or self.count == len(self._decision.records))

    @property
    def written(self) -> bytes:
        """The records of an atomic decision as they lie in their batch."""
        return b"".join(self._written)

    def advance(self, next_offset: Offset) -> tuple[VersionedRecord, ...]:
        """One more piece: the records that have to be written now. `next_offset` is where the log ends."""
        if self._decision is None:
            return self._plan_on(next_offset)
        assert self.builder is not None, "there is nothing left to do"
        values: list[bytes] = []
        for record, version in islice(self._left, PIECE_RECORDS):
            values.append(encode_record(record, version))
            replay(self.builder, record)
        self._written.append(write_values(values, self.count))
        self.count += len(values)
        self.size += sum(map(len, values))
        return ()

    def _plan_on(self, next_offset: Offset) -> tuple[VersionedRecord, ...]:
        try:
            if self._begun:
                return self._plan.send(next_offset)
            self._begun = True
            return next(self._plan)
        except StopIteration as done:
            self._decision = done.value
        if self.decision.atomic and self.decision.records:
            self.builder = self.base.builder()
            self._left = iter(self.decision.records)
        return ()
