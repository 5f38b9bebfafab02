"""When nobody was in charge, where leaders' clocks are wrong: what a log went back by is no silence."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from metadata_pipeline.tables.silences import IDLE_MS, Step, silences, without_clocks

MINUTE, HOUR, YEAR = 60_000, 3_600_000, 365 * 24 * 3_600_000
START = 1_790_000_000_000


def test_a_clock_that_is_ahead_for_a_while_is_no_silence() -> None:
    assert without_clocks([YEAR + 500, -YEAR + 500]) == [500, 0]


def test_a_clock_that_is_behind_for_a_while_is_no_silence() -> None:
    assert without_clocks([-HOUR + 500, HOUR + 500]) == [0, 500]


def test_what_passed_while_the_clock_changed_is_left() -> None:
    assert without_clocks([YEAR + 8_000, -YEAR + 500]) == [8_000, 0]
    assert without_clocks([YEAR + 500, -YEAR + 8_000]) == [8_000, 0]


def test_two_wrong_leaders_one_after_the_other() -> None:
    ahead_then_behind = [HOUR + 500, -HOUR - YEAR + 500, YEAR + 500]
    assert without_clocks(ahead_then_behind) == [0, 0, 500]
    behind_then_ahead = [-HOUR + 500, HOUR + YEAR + 500, -YEAR + 500]
    assert without_clocks(behind_then_ahead) == [0, 500, 0]
    further_and_further_ahead = [HOUR + 500, YEAR - HOUR + 500, -YEAR + 500]
    assert without_clocks(further_and_further_ahead) == [0, 500, 0]


def test_a_silence_of_hours_before_a_clock_was_wrong_stays_whole() -> None:
    assert without_clocks([5 * HOUR, HOUR + 500, -HOUR + 500]) == [5 * HOUR, 500, 0]
    assert without_clocks([5 * HOUR, -HOUR + 500, HOUR + 500]) == [5 * HOUR, 0, 500]
    assert without_clocks([HOUR + 500, 5 * HOUR, -HOUR + 500]) == [500, 5 * HOUR, 0]


def test_a_step_back_that_nothing_explains_takes_nothing() -> None:
    """A leader at 1970 in the end: no step forward is as long."""
    assert without_clocks([4_000, 9_000, -START]) == [4_000, 9_000, 0]


def steps(gaps: list[int], wrong: list[int], cluster: str = "c", stretch: int = 0) -> list[Step]:
    """Of a log whose records are so far apart, each written by a clock that is so wrong."""
    times = [START + real + error for real, error in zip(accumulate(gaps, initial=0), wrong, strict=True)]
    sizes = [None, *(after - before for before, after in pairwise(times))]
    return [
        Step(cluster, stretch, at, 1, time_ms=time, step_ms=size)
        for at, (time, size) in enumerate(zip(times, sizes, strict=True))
    ]


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[int], list[int], set[int]]:
    """Gaps, the errors of the clocks that wrote the records, and the steps at which the clock changed."""
    gaps, wrong, changes = list[int](), [0], set[int]()
    for _ in range(draw(st.integers(1, 5))):
        ahead = draw(st.integers(MINUTE, 10 * YEAR)) * draw(st.sampled_from((1, -1)))
        for error in (0, ahead):
            if wrong[-1] != error:
                changes.add(len(gaps))
            for _ in range(draw(st.integers(1, 6))):
                gaps.append(draw(st.sampled_from((IDLE_MS, IDLE_MS, 3_000, 20_000))))
                wrong.append(error)
    changes.add(len(gaps))
    return [*gaps, IDLE_MS], [*wrong, 0], changes


@given(logs())
def test_a_silence_is_told_whoever_was_wrong_before_and_after(log: tuple[list[int], list[int], set[int]]) -> None:
    gaps, wrong, changes = log
    told = {it.offset - 1: it.lasted_ms for it in silences(steps(gaps, wrong), 1_000, START + 20 * YEAR)}
    calm = {at: gap for at, gap in enumerate(gaps) if at not in changes and gap > 1_000}
    assert {at: lasted for at, lasted in told.items() if at not in changes} == calm
    assert sum(told[at] for at in changes & told.keys()) <= sum(gaps[at] for at in changes), "no more than was"


@given(st.lists(st.sampled_from((100, 500, 999, 1_001, 30_000, HOUR)), min_size=1, max_size=30))
def test_where_all_clocks_are_right_every_long_step_is_a_silence(gaps: list[int]) -> None:
    told = silences(steps(gaps, [0] * (len(gaps) + 1)), 1_000, START + YEAR)
    assert {it.offset: it.lasted_ms for it in told} == {at + 1: gap for at, gap in enumerate(gaps) if gap > 1_000}
    assert [it.lasted_ms for it in told] == sorted((it.lasted_ms for it in told), reverse=True)
    assert all(it.begin_ms == START + sum(gaps[: it.offset - 1]) for it in told)


def test_a_clock_that_is_ahead_still_is_no_silence_while_it_is_later_than_now() -> None:
    ahead = steps([500, 500, 7_500, 500], [0, 0, 0, YEAR, YEAR])
    (told,) = silences(ahead, 1_000, now_ms=START + 10_000)
    assert (told.offset, told.begin_ms) == (3, START + 1_000)
    assert told.lasted_ms <= 8_500, "the silence, and what passed until now"
    (for_good,) = silences(ahead, 1_000, now_ms=START + 2 * YEAR)
    assert for_good.lasted_ms == YEAR + 7_500, "nothing tells it from a silence"


def test_clusters_and_stretches_are_kept_apart() -> None:
    ahead, back = steps([YEAR, 500], [0] * 3, "a"), steps([500, 500], [0, 0, -YEAR], "b")
    assert [(it.cluster, it.lasted_ms) for it in silences([*ahead, *back], 1_000, START + 2 * YEAR)] == [("a", YEAR)]
    of_another = [replace(it, cluster="a", stretch=1, offset=it.offset + 50) for it in back]
    assert len(silences([*ahead, *of_another], 1_000, START + 2 * YEAR)) == 1
