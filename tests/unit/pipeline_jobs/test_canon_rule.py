"""What proves that a record is committed, told as small stories of three disks."""

from __future__ import annotations

from collections.abc import Sequence

from metadata_pipeline.canon.choice import decide
from metadata_pipeline.canon.model import Canon, Copy, Part, Piece, Proof, SnapshotMark, Suffix
from metadata_pipeline.canon.provisional import Standing, settle
from metadata_pipeline.copies import CopyKey, ReplicaKey, Run, VoterSet

VOTERS = VoterSet(-1, 0, tuple(ReplicaKey(node, f"disk-{node}") for node in (1, 2, 3)))
FIVE = VoterSet(-1, 0, tuple(ReplicaKey(node, f"disk-{node}") for node in (1, 2, 3, 4, 5)))


def key(node: int, disk: str | None = None) -> CopyKey:
    return CopyKey("c", node, disk or f"disk-{node}")


def copy(node: int, *runs: tuple[int, int, int], epoch: int | None = None, disk: str | None = None) -> Copy:
    """A copy in one piece; its quorum-state tells the epoch of its last record unless said otherwise."""
    pieces = (Piece(tuple(Run(*run) for run in runs)),) if runs else ()
    return Copy(key(node, disk), pieces, epoch if epoch is not None else (runs[-1][2] if runs else 0))


def look(*copies: Copy, snapshots: Sequence[SnapshotMark] = (), voters: VoterSet = VOTERS) -> Canon:
    return decide(copies, snapshots, [voters])


def test_a_majority_in_the_newest_epoch_commits_what_all_of_it_holds() -> None:
    canon = look(copy(1, (0, 100, 1)), copy(2, (0, 90, 1)), copy(3, (0, 50, 1)))
    assert (canon.end, canon.epoch) == (90, 1)
    assert canon.parts == (Part(key(1), 0, 90),)
    assert canon.open == (Suffix(90, 100, 1, (key(1),)),)


def test_one_copy_of_three_proves_nothing() -> None:
    canon = look(copy(1, (0, 100, 1)))
    assert canon.end == 0
    assert canon.open == (Suffix(0, 100, 1, (key(1),)),)


def test_the_only_voter_proves_all_of_its_log() -> None:
    canon = look(copy(1, (0, 100, 1)), voters=VoterSet(-1, 0, (ReplicaKey(1, "disk-1"),)))
    assert canon.end == 100


def test_a_snapshot_on_one_copy_proves_what_lies_below_its_end() -> None:
    canon = look(copy(1, (0, 100, 1)), snapshots=[SnapshotMark(60, 1)])
    assert (canon.end, canon.parts, canon.open) == (60, (Part(key(1), 0, 60),), (Suffix(60, 100, 1, (key(1),)),))


def test_a_majority_that_holds_a_record_of_an_older_epoch_proves_nothing() -> None:
    """Raft's figure 8 (c): the record of epoch 2 is on three of five disks, and node 5 may still replace it."""
    disks = [
        copy(1, (0, 1, 1), (1, 2, 2), (2, 3, 4)),
        copy(2, (0, 1, 1), (1, 2, 2), epoch=4),
        copy(3, (0, 1, 1), (1, 2, 2), epoch=4),
        copy(4, (0, 1, 1), epoch=4),
        copy(5, (0, 1, 1), (1, 2, 3)),
    ]
    assert look(*disks, voters=FIVE).end == 0
    # (e): once a record of the leader's own epoch is on a majority, all below it is committed.
    disks[1] = copy(2, (0, 1, 1), (1, 2, 2), (2, 3, 4))
    disks[2] = copy(3, (0, 1, 1), (1, 2, 2), (2, 3, 4))
    canon = look(*disks, voters=FIVE)
    assert (canon.end, canon.epoch) == (3, 4)
    assert canon.refuted == (Suffix(1, 2, 3, (key(5),)),)


def test_figure_eight_is_seen_even_when_the_disks_of_the_later_leaders_are_missing() -> None:
    """Copies of different times: node 3 got the record of epoch 2 from the leader of epoch 4, which its quorum-state
    tells.
    """
    early = [copy(1, (0, 1, 1), (1, 2, 2)), copy(2, (0, 1, 1), (1, 2, 2))]
    late = copy(3, (0, 1, 1), (1, 2, 2), epoch=4)
    assert look(*early, late, voters=FIVE).end == 0
    in_time = copy(3, (0, 1, 1), (1, 2, 2))
    assert look(*early, in_time, voters=FIVE).end == 2


def test_two_voters_that_disagree_prove_nothing_above_their_common_log() -> None:
    canon = look(copy(1, (0, 50, 1), (50, 60, 2)), copy(2, (0, 50, 1), (50, 70, 3)), snapshots=[SnapshotMark(40, 1)])
    assert canon.end == 40
    assert set(canon.open) == {
        Suffix(40, 50, 1, (key(1), key(2))),
        Suffix(50, 60, 2, (key(1),)),
        Suffix(50, 60, 3, (key(2),)),
        Suffix(60, 70, 3, (key(2),)),
    }


def test_a_voter_counts_only_with_the_disk_that_the_voter_set_names() -> None:
    canon = look(copy(1, (0, 9, 1)), copy(2, (0, 9, 1), disk="another"))
    assert canon.end == 0


def test_observers_provide_records_but_no_votes() -> None:
    canon = look(copy(7, (0, 9, 1)), copy(8, (0, 9, 1)), copy(1, (0, 9, 1)))
    assert canon.end == 0
    assert look(copy(7, (0, 9, 1)), snapshots=[SnapshotMark(9, 1)]).parts == (Part(key(7), 0, 9),)


def test_the_voter_set_in_force_is_the_last_one_on_the_holders_log() -> None:
    """Two of three are a majority, two of the four that the log names from offset 80 on are not."""
    four = VoterSet(80, 1, tuple(ReplicaKey(node, f"disk-{node}") for node in (1, 2, 3, 4)))
    disks = [copy(1, (0, 100, 1)), copy(2, (0, 100, 1)), copy(3, (0, 70, 1))]
    assert decide(disks, [], [VOTERS, four]).end == 70
    other_branch = VoterSet(80, 9, four.voters)
    assert decide(disks, [], [VOTERS, other_branch]).end == 100


def test_a_leader_change_tells_voters_until_a_voters_record_does() -> None:
    static = VoterSet(0, 1, tuple(ReplicaKey(node) for node in (1, 2, 3)), from_record=False)
    disks = [copy(1, (0, 100, 1), disk="a"), copy(2, (0, 100, 1), disk="b")]
    assert decide(disks, [], [static]).end == 100
    assert decide(disks, [], [static, VOTERS]).end == 0


def test_two_disks_of_one_voter_without_directories_are_not_two_votes() -> None:
    static = VoterSet(0, 1, tuple(ReplicaKey(node) for node in (1, 2, 3)), from_record=False)
    disks = [copy(1, (0, 100, 1), disk="old"), copy(1, (0, 100, 1), disk="new")]
    assert decide(disks, [], [static]).end == 0


def test_a_hole_in_one_copy_is_filled_from_another() -> None:
    canon = look(copy(1, (0, 40, 1), (45, 100, 1)), copy(2, (30, 100, 1)))
    assert canon.end == 100
    assert canon.parts == (Part(key(1), 0, 30), Part(key(2), 30, 100))
    assert canon.holes == ()
    assert look(copy(1, (0, 40, 1), (45, 100, 1)), copy(2, (0, 40, 1), (44, 100, 1))).holes == ((40, 44),)


def test_a_log_that_was_restarted_is_not_trusted_below_the_restart() -> None:
    """Node 3 was fed a snapshot: what it held before in another piece is not proven by what it holds after."""
    restarted = Copy(key(3), (Piece((Run(0, 50, 1), Run(50, 55, 2))), Piece((Run(80, 100, 4),))), 4)
    canon = look(restarted, copy(1, (60, 100, 4)))
    assert canon.end == 100
    assert canon.parts == (Part(key(1), 60, 100),)
    assert {(it.start, it.end) for it in canon.open} == {(0, 50), (50, 55)}


def test_what_was_proven_once_remains_proven() -> None:
    canon = decide([copy(1, (0, 100, 1), epoch=2)], [], [VOTERS], [Proof(90, 1, "commit 3")])
    assert canon.end == 90


def test_provisional_records_are_confirmed_or_retracted_later() -> None:
    first = settle([], look(copy(1, (0, 50, 1), (50, 60, 2)), copy(2, (0, 50, 1)), snapshots=[SnapshotMark(40, 1)]), 1)
    assert [(it.start, it.end, it.epoch, it.nodes, it.status) for it in first] == [
        (40, 50, 1, (1, 2), "provisional"),
        (50, 60, 2, (1,), "provisional"),
    ]
    # Nodes 2 and 3 elect a leader; node 1 has not heard of it.
    later = look(copy(1, (0, 50, 1), (50, 60, 2)), copy(2, (0, 50, 1), (50, 70, 3)), copy(3, (0, 50, 1), (50, 70, 3)))
    assert settle(first, later, 2) == [
        Standing(40, 50, 1, (1, 2), "confirmed", 1, 2),
        Standing(50, 60, 2, (1,), "retracted", 1, 2),
    ]


def test_a_suffix_that_every_copy_has_truncated_is_retracted() -> None:
    first = settle([], look(copy(1, (0, 50, 1))), 1)
    assert settle(first, look(copy(1, (0, 45, 1))), 2) == [
        Standing(0, 45, 1, (1,), "provisional", 1),
        Standing(45, 50, 1, (1,), "retracted", 1, 2),
    ]
