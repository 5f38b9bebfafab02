"""Schedules in which every topic is made in pieces of one record, and brokers do one unit of work in each step: leaders
die, are deposed and cut off in the middle of decisions, images overtake each other, requests come between.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.local_changes import LocalChanges
from controller_runtime.controller import brokers, decision, topics
from controller_runtime.controller.decision import Pieces
from controller_runtime.identifiers import Offset
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.active.long_decision import LongDecision
from controller_runtime.parts import pieces
from controller_runtime.parts.asker import Asker
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
    for module in ("active.long_decision", "quorum.image_feed"):
        monkeypatch.setattr(f"controller_runtime.node.{module}.PIECE_RECORDS", 1)
    monkeypatch.setattr("controller_runtime.node.active.active_controller.MAX_WAITING_TOGETHER", 2)
    for seed in SEEDS:
        Schedule.of(plan_of(seed), every_invariant()).run()
    assert begun > 50
    assert 0 < ended <= begun


def test_brokers_that_work_in_pieces_keep_every_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    behind = 0
    go_on = LocalChanges.go_on

    def counted(self: LocalChanges) -> list[BrokerEffect]:
        nonlocal behind
        effects = go_on(self)
        behind += self.is_behind
        return effects

    monkeypatch.setattr(LocalChanges, "go_on", counted)
    monkeypatch.setattr(pieces, "PIECE_UNITS", 1)
    for seed in SEEDS:
        plan = plan_of(seed)
        assert plan.fleet.brokers
        Schedule.of(plan, every_invariant()).run()
    assert behind > 50
