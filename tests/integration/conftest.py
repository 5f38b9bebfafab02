"""Tests that show one thing in several places, each with processes of its own, are run in some of them: the seed of the
run chooses.

A soak runs all, and so does a run that asks for a file by name. Which were chosen is said at the end of the run.
"""

from __future__ import annotations

from typing import Final

import pytest

from support.sampling import leave_out_variants, take_turns

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
    "test_brokers_that_show_who_they_are_lose_nothing_when_each_is_killed": 1,
}
"""How many of a test's variants are run."""
TURNS: Final = {
    "test_a_follower_that_may_not_act_for_the_cluster_copies_nothing": 2,
    "test_nothing_new_is_placed_on_a_broker_that_is_cordoned_until_it_is_opened_again": 3,
    "test_a_broker_that_left_is_listed_as_fenced_unregistered_and_then_unknown": 3,
    "test_a_broker_whose_connection_is_cut_comes_back_on_another_one_and_is_not_fenced": 3,
    "test_a_killed_broker_is_fenced_long_before_its_session_ends": 2,
    "test_a_token_stands_for_its_owner_until_it_is_over": 2,
    "test_a_controller_without_a_majority_is_not_ready_and_never_restarted": 3,
    "test_answers_that_nobody_takes_are_bounded_and_given_up_and_a_slow_reader_gets_his": 2,
    "test_a_broker_compacts_a_topic_while_it_is_written": 3,
    "test_features_are_described_raised_and_refused_through_both_doors": 2,
    "test_a_hundred_quiet_clusters_cost_the_api_server_nothing_but_the_lease": 4,
    "test_an_archive_that_the_quorum_trimmed_past_keeps_what_it_had_and_says_so": 2,
    "test_the_report_is_whole_on_a_phone_on_a_desk_and_on_paper_light_and_dark": 3,
    "test_search_hover_and_time_range": 3,
    "test_a_log_that_lost_what_was_committed_is_told_and_nothing_of_it_is_committed": 2,
    "test_steps_are_bounded_and_what_was_planned_is_read_again_after_a_restart_as_it_was": 3,
    "test_what_is_not_the_archives_quorum_any_more_is_refused_and_nothing_of_it_is_kept": 2,
    "test_damage_and_truncation_are_told_apart_and_nothing_is_written_over_them": 2,
    "test_a_quorum_whose_log_begins_with_a_snapshot_is_read_from_there": 2,
    "test_a_user_is_added_and_removed_while_everything_runs": 2,
    "test_a_start_is_measured": 3,
    "test_records_appended_inside_the_leader_are_measured": 3,
    "test_the_topic_that_the_load_changes_is_made": 3,
    "test_a_replica_is_moved_by_the_tool_and_kills_on_the_way_lose_nothing": 2,
    "test_connections_are_made_no_faster_than_was_said_last": 2,
    "test_drill_of_a_new_cluster_up_to_an_offset_while_the_archived_one_lives_on": 2,
}
"""Each starts processes and takes from six to thirty seconds: one seed in so many tells it. That nothing is lost when
brokers are killed every run tells.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_variants(config, items, VARIANTS)
    take_turns(config, items, lambda item: TURNS.get(item.name.partition("[")[0], 1))
