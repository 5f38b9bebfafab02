"""The thousands of random schedules run beside the other tests of this folder, from the first of them on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import pytest

from support import sampling
from support.simulation.beside import Campaign, start

SOAK: Final = bool(os.environ.get("QUORATE_SOAK"))
SCHEDULES: Final = int(os.environ.get("QUORATE_SCHEDULES", "1000000" if SOAK else "20000"))
SECONDS: Final = None if SOAK else float(os.environ.get("QUORATE_SCHEDULE_SECONDS", "200"))
"""After this long no more are begun, so that a slow machine is not kept; the number that ran is printed."""
VARIANTS: Final = {
    "test_a_first_leader_is_elected_and_everybody_follows": 4,
    "test_after_the_leader_is_killed_the_others_go_on_and_it_catches_up": 2,
    "test_a_killed_leader_is_replaced_before_any_fetch_timeout": 2,
    "test_followers_that_stand_at_one_moment_do_not_wait_for_the_leader_that_froze": 2,
    "test_a_leader_that_is_stopped_hands_over": 2,
    "test_only_the_majority_side_goes_on_and_all_converge_when_healed": 2,
    "test_the_rest_goes_on_when_the_leader_is_cut_off": 2,
    "test_one_leadership_emerges_in_a_partial_partition": 2,
    "test_a_partial_partition_does_not_move_an_established_leader": 2,
    "test_back_to_back_isolation_of_leaders_does_not_stop_the_quorum": 2,
    "test_a_voter_that_lost_its_disk_rejoins_without_losing_what_is_committed": 2,
    "test_a_node_behind_the_logs_start_fetches_the_snapshot": 2,
    "test_a_bare_majority_of_a_dead_quorum_goes_on": 2,
    "test_syncs_of_half_a_second_cause_no_election": 5,
    "test_a_request_that_lies_changes_nothing": 4,
    "test_records_that_lie_are_not_appended": 4,
    "test_a_seed_that_failed_once_passes": 8,
    "test_a_defect_of_history_is_noticed": 4,
    "test_a_defect_of_groups_is_noticed": 2,
    "test_a_defect_of_share_groups_is_noticed": 1,
    "test_a_schedule_that_notices_them_passes": 1,
    "test_what_a_recovered_log_calls_flushed_survives_a_power_loss": 4,
    "test_an_election_state_that_was_read_survives_a_power_loss": 3,
}
"""How many of a test's variants (mostly seeds) are run beside the thousands; the run's seed chooses."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    sampling.leave_out_variants(config, items, VARIANTS)


@pytest.fixture(scope="session", autouse=True)
def thousands(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign | None]:
    """Not begun unless somebody is going to ask how it ended."""
    if not any(item.name.startswith("test_thousands_of_random_schedules") for item in request.session.items):
        yield None
        return
    campaign = start(sampling.run_seed() + 24, SCHEDULES, SECONDS, tmp_path_factory.mktemp("schedules") / "said.txt")
    yield campaign
    campaign.end()
