"""Which end-to-end stories a run tells: every file is listed, every story has tests, and the seed fills the budget
without bursting it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kubernetes import stories
from support.kubernetes.stories import STORIES, Story

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).parents[1] / "e2e"


def test_every_file_of_end_to_end_tests_says_what_it_costs() -> None:
    unlisted = stories.unlisted(FOLDER)
    assert not unlisted, stories.advice(unlisted)


def test_every_story_that_is_listed_has_tests() -> None:
    for story in STORIES:
        text = (FOLDER / story.file).read_text()
        tests = [
            line.partition("(")[0].removeprefix("def ") for line in text.splitlines() if line.startswith("def test_")
        ]
        assert any(story.part in test for test in tests), story


def seconds(told: tuple[Story, ...]) -> int:
    clusters = {story.cluster for story in told}
    return sum(story.seconds for story in told) + sum(stories.FORMING.get(cluster, 0) for cluster in clusters)


def test_no_seed_bursts_the_budget_and_none_wastes_half_of_it() -> None:
    costs = [seconds(stories.chosen(seed)) for seed in range(200)]
    assert max(costs) <= stories.BUDGET_S
    assert min(costs) > stories.BUDGET_S // 2


def test_what_is_told_always_is_told_by_every_seed_and_every_other_story_by_some() -> None:
    runs = [stories.chosen(seed) for seed in range(1000)]
    for story in STORIES:
        told = sum(story in run for run in runs)
        if story.soak:
            assert told == 0, story
            continue
        assert told == len(runs) if story.always else told > 0, story


def test_a_test_belongs_to_the_story_with_a_part_of_its_name_else_to_the_rest_of_its_file() -> None:
    one, rest, other = Story("a.py", 1, "lost", "[x]"), Story("a.py", 1, "", "[x]"), Story("a.py", 1, "", "[y]")
    listed = (one, rest, other)
    assert stories.told_by("a.py", "test_a_lost_disk[x]", listed) == one
    assert stories.told_by("a.py", "test_a_disk[x]", listed) == rest
    assert stories.told_by("a.py", "test_a_lost_disk[y]", listed) == other
    assert stories.told_by("b.py", "test_a_lost_disk[y]", listed) is None
