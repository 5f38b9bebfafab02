"""Hundreds of random histories of wiping, swapping, copying, crashing and replaying grants: no promise of the guard
breaks.

The promises (checked in support.operator_model.guarded_world whenever a disk is formatted or a node starts): no disk is
formatted twice; no directory id is ever used on two different disks; a node starts only on its own directory, the one
that the ledger knows, and never on a copy that is older than the ledger remembers. A history is named by its seed:
`random_history(random.Random(SEED))` replays it.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from storage_guard import judge, passage
from storage_guard.facts import Journal
from support.operator_model.guarded_world import Breach, random_history

pytestmark = pytest.mark.properties

HISTORIES = 20_000 if os.environ.get("QUORATE_SOAK") else 400


def histories(first_seed: int, count: int) -> Counter[str]:
    outcomes = Counter[str]()
    for seed in range(first_seed, first_seed + count):
        try:
            outcomes += random_history(random.Random(seed))[1]
        except Breach as breach:
            breach.add_note(f"random_history(random.Random({seed}))")
            raise
    return outcomes


def test_no_history_breaks_a_promise(run_seed: int, sampled: Callable[[str], None]) -> None:
    outcomes = histories(run_seed, HISTORIES)
    sampled(f"storage guard: {HISTORIES} histories from seed {run_seed}: {dict(outcomes)}")
    assert outcomes["Started"] > HISTORIES
    assert outcomes["Crashed"] > HISTORIES / 2
    assert {"AwaitingGrant", "FormatRefused", "DirectoryOfAnother", "GrantVoid", "OtherDirectory", "OldCopy"} <= set(
        outcomes
    )


@pytest.mark.parametrize("seed", [1914750735])
def test_a_history_that_once_failed_holds(seed: int) -> None:
    assert histories(seed, 1)["Started"]


def test_a_guard_that_forgets_what_it_sealed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "with_seal", lambda journal, _nonce: journal)
    with pytest.raises(Breach, match="directory id"):
        histories(0, 300)


def test_a_guard_that_takes_any_pods_grant_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage, "_void", lambda _grant, _pod: None)
    with pytest.raises(Breach, match="directory id"):
        histories(0, 300)


def test_a_guard_that_ignores_the_ledgers_minimum_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "LogEnd", NoMinimum)
    with pytest.raises(Breach, match="old copy"):
        histories(0, 300)


class NoMinimum:
    key = (0, 0)

    def __init__(self, *_: int) -> None: ...
