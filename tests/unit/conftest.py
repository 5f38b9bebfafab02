"""What a run leaves out of this layer: cases that two tests show in two ways are shown in one of them, and long tests
take turns. The seed chooses, a soak shows all.
"""

from __future__ import annotations

from typing import Final

import pytest

from support.sampling import one_way_each, take_turns

MISTAKES = (
    "test_a_mistake_on_a_cluster_that_runs_is_over_once_it_is_corrected",
    "test_a_mistake_from_the_beginning_is_over_once_it_is_corrected",
)
WORLDS: Final = frozenset(
    f"test_{name}.py"
    for name in (
        "another_authority", "archive", "becoming_secure", "cluster_status", "cordon", "full_ledger",
        "headroom", "maintenance_windows", "mistakes", "operator_pairs", "operator_upgrade", "pool_shrink",
        "recovery_events", "replication_factor", "revision_corners", "roll_order",
        "secure_cluster", "users", "way_is_kept",
    )
)  # fmt: skip
"""Files of `kraft_operator` that tell stories of whole clusters, a third of a second each. What may be lost on a disk
(claims, grants, ledger, volumes, restored disks) is not among them: it is told by every run.
"""
WORLDS_TURNS: Final = 4
LONG: Final = {
    "test_no_step_of_a_broker_is_long_or_grows_with_its_partitions": 3,
    "test_nor_is_one_in_which_it_asks_the_authorizer": 3,
    "test_what_our_processes_freed_is_not_paged_in_anew": 4,
    "test_columns_are_the_same_when_others_are_left_out": 3,
    "test_dump_loads_neither_pandas_nor_spark": 3,
    "test_no_step_changes_more_than_a_piece_and_the_end_is_whole": 3,
    "test_programs_are_written_by_the_same_code": 2,
}


def turns(item: pytest.Item) -> int:
    if item.path.name in WORLDS and item.path.parent.name == "kraft_operator" and "document" not in item.name:
        return WORLDS_TURNS
    return LONG.get(item.name.partition("[")[0], 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    one_way_each(config, items, MISTAKES)
    take_turns(config, items, turns)
