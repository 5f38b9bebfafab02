"""Epochs are covered by no checksum: one damaged number must not make the rest of a log look untrue, nor be believed
where the rest contradicts it.
"""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_pipeline.canon.credible import believed_runs
from metadata_pipeline.canon.from_lake import evidence
from metadata_pipeline.copies import Claim, CopyKey, Run
from metadata_pipeline.jobs.epochs import Epochs
from metadata_pipeline.lake.entries import Commit, CopyFacts, LakeFile, SourceRange
from metadata_pipeline.lake.state import replay

Story = list[tuple[int, str]]
"""Batches of one record: their epochs, and what they are: a leader's first (L), voters (V), a record (r)."""


def claims_of(story: Story, start: int = 0, chunk: int = 1000) -> tuple[Claim, ...]:
    """As a worker tells them, from chunks."""
    seen = Epochs()
    for first in range(0, len(story), chunk):
        part = story[first : first + chunk]
        offsets = pa.array(range(start + first, start + first + len(part)), pa.int64())
        columns = {"base_offset": offsets, "last_offset": offsets, "position": offsets}
        columns |= {"epoch": pa.array([it for it, _ in part], pa.int32())}
        seen.add(pa.record_batch(columns | {"is_control": pa.array([kind in "LV" for _, kind in part])}))
    for at, (_, kind) in enumerate(story):
        if kind == "L":
            seen.led(start + at)
    return tuple(seen.claims)


def held(runs: list[Run]) -> dict[int, int]:
    return {offset: run.epoch for run in runs for offset in range(run.start, run.end)}


def held_by_lake(parts: list[Story], *, old: bool = False) -> dict[int, int]:
    """What is believed of a log that grew between ingests. `old`: an older release ingested it."""
    key, commits, start = CopyKey("c", 1, "d"), [], 0
    for number, part in enumerate(parts):
        claims = claims_of(part, start)
        runs = tuple(believed_runs(claims))
        end = start + len(part)
        one = SourceRange(
            key, f"{0:020d}.log", start, end, start, end, None, runs, (), len(held(list(runs))) < len(part),
            () if old else claims
        )  # fmt: skip
        file = LakeFile(f"f{number}", "batches", 1, 1, (one,))
        commits.append(Commit(number, "ingest", number, (file,), copies=(CopyFacts(key, "/x", 1),)))
        start = end
    (copy,) = evidence(replay(commits), "c").copies
    return held([run for piece in copy.pieces for run in piece.runs])


def story_of(sizes: tuple[int, ...], voters: bool) -> Story:
    """Epochs 2, 4, 6 of so many batches; voters change right behind each leader's record."""
    kinds = ["LV" + "r" * 9 if voters else "L" + "r" * 9] * len(sizes)
    return [(2 * at + 2, kinds[at][n]) for at, size in enumerate(sizes) for n in range(size)]


WHOLE = story_of((6, 6), voters=False)
NUMBERS = (-5, 0, 1, 2, 3, 4, 5, 6, 7, 66)


def test_a_log_is_the_runs_of_its_epochs_however_it_is_read() -> None:
    for chunk in range(1, 13):
        assert believed_runs(claims_of(WHOLE, chunk=chunk)) == [Run(0, 6, 2), Run(6, 12, 4)]
    for cut in range(1, 12):
        for old in (False, True):
            assert held_by_lake([WHOLE[:cut], WHOLE[cut:]], old=old) == {n: it[0] for n, it in enumerate(WHOLE)}


@pytest.mark.parametrize("voters", [False, True])
def test_one_damaged_epoch_costs_its_own_batch_alone_wherever_the_log_was_cut(voters: bool) -> None:
    """Every place, every number, every cut of the log between two ingests, with and without voters beside the leader's
    record.
    """
    for sizes in product((3, 4), (3, 4), (3, 4)):
        story = story_of(sizes, voters)
        true = {offset: epoch for offset, (epoch, _) in enumerate(story)}
        for at, number in product(range(len(story)), NUMBERS):
            if number == story[at][0]:
                continue
            broken = [*story[:at], (number, story[at][1]), *story[at + 1 :]]
            wanted = {offset: epoch for offset, epoch in true.items() if offset != at}
            assert held(believed_runs(claims_of(broken))) == wanted, broken
            for cut in range(1, len(story)):
                assert held_by_lake([broken[:cut], broken[cut:]]) == wanted, (broken, cut)


@pytest.mark.parametrize("voters", [False, True])
def test_where_one_number_stands_against_one_no_other_epoch_suffers(voters: bool) -> None:
    """Epochs of one or two batches: who is right cannot be told from one disk. Never is a healthy number believed to be
    another, never one of another epoch doubted.
    """
    for sizes in product((1, 2, 3), (1, 2), (1, 2, 3)):
        story = story_of(sizes, voters)
        for at, number in product(range(len(story)), NUMBERS):
            if number == story[at][0]:
                continue
            broken = [*story[:at], (number, story[at][1]), *story[at + 1 :]]
            found = held(believed_runs(claims_of(broken)))
            assert {offset for offset, epoch in found.items() if epoch != story[offset][0]} <= {at}, broken
            lost = {offset for offset in range(len(story)) if offset not in found}
            assert len({story[offset][0] for offset in lost | {at}}) <= 2, broken
            assert len(lost) <= 2, broken


def test_the_older_epoch_is_believed_where_one_number_stands_against_one() -> None:
    """A leader's record says 66, the only batch behind it 4: with 66 believed, nothing of the cluster could
    be proven.
    """
    assert held(believed_runs(claims_of([*WHOLE[:6], (66, "L"), (4, "V")]))) == {**dict.fromkeys(range(6), 2), 7: 4}


def test_an_epoch_that_lost_its_beginning_is_believed() -> None:
    """The leader's record has bit rot and is not among the undamaged batches."""
    claims = (Claim(0, 3, 1, 3), Claim(4, 5, 2, 1), Claim(5, 6, 3, 1, leader=True))
    assert believed_runs(claims) == [Run(0, 3, 1), Run(4, 5, 2), Run(5, 6, 3)]


def test_a_record_that_no_leader_began_is_not_believed() -> None:
    assert believed_runs(claims_of([*WHOLE[:6], (66, "r")])) == [Run(0, 6, 2)]
    assert believed_runs(claims_of([*WHOLE[:6], (66, "V")])) == [Run(0, 6, 2)]
    assert believed_runs(claims_of([*WHOLE[:6], (66, "L")])) == [Run(0, 6, 2), Run(6, 7, 66)], (
        "a leader may just have come"
    )


@given(st.lists(st.integers(1, 5), min_size=1, max_size=60), st.integers(1, 200), st.booleans())
@settings(deadline=None)
def test_a_healthy_log_is_believed_whole(sizes: list[int], chunk: int, voters: bool) -> None:
    story = story_of(tuple(sizes), voters)
    assert held(believed_runs(claims_of(story, chunk=chunk))) == {n: epoch for n, (epoch, _) in enumerate(story)}


def test_one_damaged_epoch_among_many_leaders_costs_its_own_batch_alone() -> None:
    story = story_of((1,) * 900, voters=False)
    story[450] = (5, "L")
    assert len(held(believed_runs(claims_of(story)))) == 899
