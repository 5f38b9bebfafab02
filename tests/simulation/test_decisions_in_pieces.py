"""Schedules in which every topic is made in pieces of one record: leaders die, are deposed and cut off in the middle of
decisions.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller import brokers, decision, topics
from controller_runtime.controller.decision import Pieces
from controller_runtime.identifiers import Offset
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.long_decision import LongDecision
from controller_runtime.node.pending import Asker
from simulation.invariants.every import every_invariant
from support.simulation.plan import plan_of
from support.simulation.schedule import Schedule

pytestmark = pytest.mark.simulation

SEEDS = range(70_000, 70_010)


def test_decisions_made_in_pieces_keep_every_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = 0, 0
    begin, advance = LongDecision.__init__, LongDecision.advance

    def counted(self: LongDecision, asker: Asker | None, plan: Pieces, base: MetadataImage) -> None:
        nonlocal begun
        begun += 1
        begin(self, asker, plan, base)

    def advanced(self: LongDecision, next_offset: Offset) -> tuple[VersionedRecord, ...]:
        nonlocal ended
        piece = advance(self, next_offset)
        ended += self.ready
        return piece

    monkeypatch.setattr(LongDecision, "__init__", counted)
    monkeypatch.setattr(LongDecision, "advance", advanced)
    monkeypatch.setattr(topics, "PIECE", 1)
    monkeypatch.setattr(decision, "PIECE_RECORDS", 1)
    monkeypatch.setattr(brokers, "LOOKED_AT_IN_A_PIECE", 1)
    for module in ("long_decision", "image_feed"):
        monkeypatch.setattr(f"controller_runtime.node.{module}.PIECE_RECORDS", 1)
    monkeypatch.setattr("controller_runtime.node.active_controller.MAX_WAITING_TOGETHER", 2)
    for seed in SEEDS:
        Schedule.of(plan_of(seed), every_invariant()).run()
    assert begun > 50
    assert 0 < ended <= begun
