"""What a run leaves out of this layer: histories of whole clusters take turns, and of a test with many seeds some are
run. The seed of the run chooses, a soak shows all.
"""

from __future__ import annotations

from typing import Final

import pytest

from support.sampling import leave_out_variants, take_turns

VARIANTS: Final = {
    "test_our_controllers_never_lose_what_the_rule_calls_committed": 2,
    "test_what_the_ledger_permitted_is_known_wherever_it_is_lost": 1,
}
LONG: Final = frozenset(
    f"test_{name}.py"
    for name in (
        "any_request", "bad_revisions", "every_action_is_compared", "failure_domains", "fleet_brake",
        "forward_way", "operator_idle", "plan_mode",
        "decoder_against_codec",
    )
)  # fmt: skip
"""Files whose tests cost seconds each. What must never be lost (acknowledged records, a directory made again, a claim
given up, a partition begun empty) is not among them: those histories are told by every run.
"""
TURNS: Final = 3


def turns(item: pytest.Item) -> int:
    return TURNS if item.path.name in LONG else 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_variants(config, items, VARIANTS)
    take_turns(config, items, turns)
