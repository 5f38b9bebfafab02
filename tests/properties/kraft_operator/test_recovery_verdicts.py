"""Which copy of the log a lost quorum is made from again: over random histories of a small Raft, with all and any of
its voters lost.

(A) The seed holds whatever any survivor knows to be committed. (B) It holds every committed entry that a survivor
merely holds, if it was committed in an epoch that the seed has reached; so, unless the verdict warns, in any epoch a
survivor has heard of. (C) What is proven complete is complete. (D) A history of Raft is never called a fork.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from kraft_operator.operations.verdict import (
    CopyRole,
    Judged,
    LogCopy,
    RecoveryVerdict,
    Witness,
    digest,
    judge,
    meets_every_majority,
)
from support.nodes.raft_copies import Entry, Raft

pytestmark = pytest.mark.properties

EXAMPLES = 5000 if os.environ.get("QUORATE_SOAK") else 200
NODE = st.integers(0, 6)
STEP = st.one_of(
    st.tuples(st.just("elect"), NODE, st.sets(NODE, max_size=5)),
    st.tuples(st.just("append"), NODE, st.just(0)),
    st.tuples(st.just("fetch"), NODE, st.integers(1, 4)),
)
History = tuple[int, int, list[tuple[str, int, Any]], set[int], set[int]]
HISTORY = st.tuples(
    st.integers(1, 5), st.integers(0, 2), st.lists(STEP, max_size=40), st.sets(NODE, min_size=1), st.sets(NODE)
)


def told(history: History) -> tuple[Raft, set[int], list[LogCopy]]:
    voters, brokers, steps, lives, forgets = history
    raft = Raft(voters, brokers)
    everybody = sorted(raft.replicas)
    for what, number, more in steps:
        node = everybody[number % len(everybody)]
        voter = number % voters + 1
        if what == "elect":
            raft.elect(voter, {each % voters + 1 for each in more})
        elif what == "append":
            raft.append(voter)
        elif raft.leaders:
            raft.fetch(node, raft.leaders[max(raft.leaders)], more)
    survivors = {everybody[each % len(everybody)] for each in lives}
    return raft, survivors, raft.copies(survivors, {everybody[each % len(everybody)] for each in forgets})


def broken(raft: Raft, survivors: set[int], copies: list[LogCopy], found: RecoveryVerdict) -> list[str]:
    """Which of the promises this choice breaks."""
    if found.judged is Judged.FORKED or found.seed is None:
        return ["D"]
    seed = raft.replicas[found.seed.node_id].log
    known = [entry for each in copies for entry in raft.replicas[each.node_id].log[: each.known]]
    held: set[Entry] = {entry for each in survivors for entry in raft.replicas[each].log} & set(raft.committed)
    warned = found.judged in (Judged.UNKNOWN, Judged.KNOWN_LOSS)
    heard = 1 << 30 if found.judged is Judged.PROVEN_COMPLETE else max(each.promised for each in copies)
    reached = found.seed.last_epoch if warned else heard
    wrong = ["A"] if not set(known) <= set(seed) else []
    wrong += ["B"] if any(raft.committed[entry] <= reached and entry not in seed for entry in held) else []
    wrong += ["C"] if found.judged is Judged.PROVEN_COMPLETE and not set(raft.committed) <= set(seed) else []
    return wrong


@given(HISTORY)
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_seed_holds_what_any_survivor_knows_to_be_committed(history: History) -> None:
    raft, survivors, copies = told(history)
    found = judge(copies)
    assert not broken(raft, survivors, copies, found), found


def by_epoch_and_offset(copies: list[LogCopy]) -> RecoveryVerdict:
    """The rule that others use."""
    return RecoveryVerdict(Judged.UNKNOWN, "", max(copies, key=lambda each: each.reach))


def test_choosing_by_epoch_and_offset_alone_is_caught() -> None:
    """Somebody learned a high watermark that reaches its own end, and an entry of a later epoch that lost stands
    elsewhere.
    """
    raft = corner(copied=False)
    raft.fetch(2, 1, 1)  # it gets e only now, and hears with it that e is committed
    copies = raft.copies({2, 5}, set())
    assert broken(raft, {2, 5}, copies, by_epoch_and_offset(copies)) == ["A"]
    found = judge(copies)
    assert not broken(raft, {2, 5}, copies, found)
    assert (found.judged, found.seed.node_id if found.seed else 0) == (Judged.UNKNOWN, 2)


def test_counting_survivors_without_regard_for_what_they_hold_is_caught() -> None:
    """The histories do reach what the verdict is for: a rule that always says that nothing is lost is refuted."""

    def lies(history: History) -> bool:
        raft, survivors, copies = told(history)
        found = replace(judge(copies), judged=Judged.PROVEN_COMPLETE)
        return found.seed is not None and "C" in broken(raft, survivors, copies, found)

    find(HISTORY, lies, settings=settings(max_examples=20_000, deadline=None, database=None))


def corner(*, copied: bool = True) -> Raft:
    """Of L5: e (epoch 1) is on 1 and 2; 5 leads epoch 2 and writes a record that nobody copies; 1 leads epoch 3 and
    commits e with 3 and 4.
    """
    raft = Raft(5)
    assert raft.elect(1, {2, 3, 4, 5})
    if copied:
        raft.fetch(2, 1, 1)
    assert raft.elect(5, {3, 4})
    assert raft.elect(1, {2, 3, 4})
    for each in (3, 4):
        raft.fetch(each, 1, 9)
        raft.fetch(each, 1, 9)
    assert raft.committed
    return raft


def test_a_survivor_with_the_higher_epoch_does_not_win_in_silence() -> None:
    """Survivors 2 (epoch 1, holds e) and 5 (epoch 2): nothing on 2 says that e is committed but that it heard of epoch
    3.
    """
    raft = corner()
    copies = raft.copies({2, 5}, {2, 5})
    found = judge(copies)
    assert found.judged is Judged.UNKNOWN
    assert "node 2 has heard of epoch 3" in found.text
    assert judge([replace(each, promised=each.last_epoch) for each in copies]).judged is Judged.NO_OBSERVED_LOSS


def test_a_broker_that_saw_the_committed_entry_is_the_seed() -> None:
    raft = corner()
    raft.replicas[6] = replace(raft.replicas[3], log=list(raft.replicas[3].log))
    found = judge(raft.copies({2, 5, 6}, {2, 5}))
    assert found.seed is not None
    assert (found.judged, found.seed.node_id, found.seed.role) == (Judged.NO_OBSERVED_LOSS, 6, CopyRole.BROKER)


def copy(node: int, voters: int, **facts: object) -> LogCopy:
    everybody = tuple((each, f"d{each}") for each in range(1, voters + 1))
    plain = LogCopy(node, CopyRole.VOTER, "k", f"d{node}", 10, 1, voters=everybody, promised=1)
    return replace(plain, **facts)  # type: ignore[arg-type]


def test_a_majority_is_proof_and_half_of_an_even_number_is_not() -> None:
    """Two of four can be a majority of three: they could have removed one of the survivors, and gone on without
    anybody.
    """
    assert meets_every_majority([copy(1, 3), copy(2, 3)])
    assert meets_every_majority([copy(1, 1)])
    assert meets_every_majority([copy(each, 4) for each in (1, 2, 3)])
    assert not meets_every_majority([copy(1, 4), copy(2, 4)])
    assert not meets_every_majority([copy(1, 2)])
    assert not meets_every_majority([copy(1, 3)])
    assert not meets_every_majority([copy(1, 3, directory_id="another"), copy(2, 3)]), "the voter is the directory"
    assert not meets_every_majority([copy(1, 3), copy(2, 5)]), "one of them knows of five voters"


def test_a_voter_whose_disk_was_put_back_to_an_earlier_day_meets_no_majority() -> None:
    """1 and 3 committed an entry without 2; then 3 was lost, and what is left of 1 is a copy from before. Nobody is
    left who could tell.
    """
    raft = Raft(3)
    assert raft.elect(1, {2, 3})
    for each in (2, 3):
        raft.fetch(each, 1, 9)
        raft.fetch(each, 1, 9)
    before = replace(raft.replicas[1], log=list(raft.replicas[1].log))
    raft.append(1)
    raft.fetch(3, 1, 9)
    assert len(raft.committed) == 2
    raft.replicas[1] = before
    old, survivor = raft.copies({1, 2}, set())
    copies = [replace(old, role=CopyRole.BROKER), survivor]
    found = judge(copies)
    assert not broken(raft, {1, 2}, copies, found), found
    assert found.judged is Judged.NO_OBSERVED_LOSS
    assert not meets_every_majority([copy(1, 3, role=CopyRole.BROKER), copy(2, 3)])


def test_what_a_running_process_knows_beyond_every_log_is_a_known_loss() -> None:
    found = judge([copy(1, 3, known=8, digests={8: "x"})], [Witness(100, known=14, promised=1)])
    assert (found.judged, found.lost) == (Judged.KNOWN_LOSS, (10, 14))
    assert judge([copy(1, 3)], [Witness(100, known=10, promised=2)]).judged is Judged.UNKNOWN
    assert judge([]).judged is Judged.KNOWN_LOSS


def test_copies_that_differ_below_what_both_know_are_a_fork() -> None:
    one, other = copy(1, 3, known=8, digests={8: "x"}), copy(2, 3, known=8, digests={8: "y"})
    assert judge([one, other]).judged is Judged.FORKED
    assert judge([one, replace(other, cluster_id="z")]).judged is Judged.FORKED
    assert judge([one, replace(other, known=0)]).seed == one
    silent = replace(one, digests={}), replace(other, digests={})
    assert judge(silent).judged is Judged.FORKED, "what was not compared is not equal"
    assert judge([silent[0], replace(silent[1], known=0, last_epoch=9)]).seed == silent[0]


def test_a_digest_names_the_verdict_and_what_it_rests_on() -> None:
    copies = [copy(1, 3), copy(2, 3)]
    name = digest(judge(copies), copies)
    assert name == digest(judge(copies[::-1]), copies[::-1])
    longer = [replace(copies[0], end=11), copies[1]]
    assert name != digest(judge(longer), longer)
    assert name != digest(judge(copies), copies, [Witness(100, 3, 1)])
