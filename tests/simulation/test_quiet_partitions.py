"""What a leader does not judge again it would have judged the same: whole schedules of three brokers, told twice, with
and without it, have the same answers to every fetch, byte for byte.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.broker.leader import Leader
from controller_runtime.broker.quiet_partitions import QuietPartitions
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from support.nodes import replica_schedule
from support.nodes.broker_world import BrokerWorld
from support.nodes.replica_schedule import Schedule, Told
from support.sampling import SOAK

pytestmark = [pytest.mark.simulation, pytest.mark.slow]

SEEDS, PARTITIONS = (30 if SOAK else 1), 12
PERFORM, FIND = BrokerWorld._perform, QuietPartitions.find


def told_by(seed: int, monkeypatch: pytest.MonkeyPatch, find: Any) -> tuple[Told, list[tuple[int, bytes]]]:
    answers: list[tuple[int, bytes]] = []

    def performed(self: BrokerWorld, effect: Any) -> None:
        if isinstance(effect, Respond) and isinstance(effect.body, FetchResponse):
            answers.append((self.node_id, encode(effect.body, FetchResponse.VERSIONS.highest)))
        PERFORM(self, effect)

    with monkeypatch.context() as patched:
        patched.setattr(BrokerWorld, "_perform", performed)
        patched.setattr(QuietPartitions, "find", find)
        patched.setattr(replica_schedule, "PARTITIONS", PARTITIONS)
        return Schedule(seed).run(), answers


def test_every_answer_is_the_same(run_seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = 0

    def counted(self: QuietPartitions, *words: Any) -> Leader | None:
        nonlocal found
        leader = FIND(self, *words)
        found += leader is not None
        return leader

    for seed in range(run_seed, run_seed + SEEDS):
        assert told_by(seed, monkeypatch, counted) == told_by(seed, monkeypatch, lambda *_: None), f"Schedule({seed})"
    assert found > 10 * SEEDS, "something is quiet sometimes"
