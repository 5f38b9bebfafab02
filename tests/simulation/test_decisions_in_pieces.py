"""Schedules in which every topic is made in pieces of one record: leaders die, are deposed and cut off in the middle of decisions."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from controller_runtime.controller import topics
from controller_runtime.controller.decision import Decision
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

    def counted(self: LongDecision, asker: Asker, plan: Generator[None, None, Decision], base: MetadataImage) -> None:
        nonlocal begun
        begun += 1
        begin(self, asker, plan, base)

    def advanced(self: LongDecision) -> bool:
        nonlocal ended
        done = advance(self)
        ended += done
        return done

    monkeypatch.setattr(LongDecision, "__init__", counted)
    monkeypatch.setattr(LongDecision, "advance", advanced)
    monkeypatch.setattr(topics, "PIECE", 1)
    for module in ("long_decision", "image_feed"):
        monkeypatch.setattr(f"controller_runtime.node.{module}.PIECE_RECORDS", 1)
    monkeypatch.setattr("controller_runtime.node.controller_node.MAX_WAITING_TOGETHER", 2)
    for seed in SEEDS:
        Schedule.of(plan_of(seed), every_invariant()).run()
    assert begun > 50
    assert 0 < ended <= begun
