"""Tests that show one thing in several places, each with processes of its own, are run in some of them: the seed of the
run chooses.

A soak runs all, and so does a run that asks for a file by name. Which were chosen is said at the end of the run.
"""

from __future__ import annotations

from typing import Final

import pytest

from support.sampling import leave_out_variants

VARIANTS: Final = {
    "test_a_sync_that_fails_ends_the_process_and_is_never_tried_again": 1,
    "test_a_voter_whose_syncs_take_half_a_second_causes_no_election": 1,
    "test_what_rots_is_found_by_the_scrub_told_and_replaced": 1,
    "test_every_controller_and_broker_writes_snapshots_that_say_what_the_log_says": 1,
    "test_a_node_that_slept_replaces_its_image_by_the_snapshot_while_it_runs": 1,
    "test_a_voter_whose_promises_are_missing_or_older_than_its_log_is_refused": 1,
    "test_three_controllers_elect_one_leader_and_commit": 1,
    "test_a_small_file_that_cannot_be_read_is_named_and_left_as_it_is": 1,
    "test_nothing_is_taken_from_a_leader_that_lies": 4,
    "test_a_pod_that_cannot_tell_its_uid_is_held_with_a_reason": 1,
}
"""How many of a test's variants are run."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_variants(config, items, VARIANTS)
