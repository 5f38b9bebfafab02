"""A disk that gives back other bytes than it was given: nothing of them is served, the node says so and replaces them
by a snapshot.
"""

from __future__ import annotations

import pytest

from controller_runtime.node.quorum import effects as e
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.file_names import snapshot_file
from controller_runtime.storage.log.config import LogConfig
from support.nodes.lone_controller import FOLLOWER, LOG, LoneController, Pair

pytestmark = pytest.mark.unit

NEVER = SnapshotConfig(max_new_bytes=1 << 40, max_interval_ms=0, scrub_interval_ms=0)
SCRUBBING = SnapshotConfig(max_new_bytes=1 << 40, max_interval_ms=0, scrub_interval_ms=1000)


def rot(node: LoneController, name: str, position: int) -> None:
    file = node.disk.open(f"{LOG}/{name}")
    good = file.read_at(position, 1)
    file.write_at(position, bytes([good[0] ^ 2]))


def errors(node: LoneController) -> list[str]:
    return [effect.text for effect in node.seen if isinstance(effect, e.Log) and effect.level == "error"]


def test_a_leader_does_not_serve_a_damaged_batch_and_offers_a_snapshot_instead() -> None:  # SNP-17
    leader = LoneController(snapshots=NEVER)
    leader.run(30)
    closed = f"{0:020}.log"
    rot(leader, closed, 40)
    both = Pair(leader, LoneController(me=FOLLOWER, started_at=leader.now))
    both.run(10, lambda: both.follower.node.image_offset >= leader.node.image_offset > 0)
    assert len(errors(leader)) == 1
    assert f"{LOG}/{closed} at byte " in errors(leader)[0]
    assert leader.node.upkeep.keeper.damages == 1
    assert leader.log.start_offset > 0
    assert closed not in leader.disk.list_directory(LOG)
    assert both.follower.node.image == leader.node.image
    assert both.follower.log.start_offset == leader.log.start_offset, "it got the snapshot"
    LoneController(leader.disk.survivors("synced only"), started_at=leader.now).run(1)


def test_a_damaged_active_segment_is_closed_and_goes_too() -> None:
    leader = LoneController(snapshots=NEVER, log_config=LogConfig(segment_bytes=1 << 20, tail_bytes=500))
    leader.run(30)
    name = f"{0:020}.log"
    rot(leader, name, 40)
    both = Pair(leader, LoneController(me=FOLLOWER, started_at=leader.now))
    both.run(10, lambda: both.follower.node.image_offset >= leader.node.image_offset > 0)
    assert leader.node.upkeep.keeper.damages == 1
    assert name not in leader.disk.list_directory(LOG)
    assert both.follower.node.image == leader.node.image
    LoneController(leader.disk.survivors("synced only"), started_at=leader.now).run(1)


@pytest.mark.parametrize("what", ["segment", "snapshot"])
def test_a_scrub_finds_what_nobody_reads_and_the_file_is_replaced(what: str) -> None:
    node = LoneController(snapshots=SCRUBBING)
    node.run(20)
    node.node.upkeep.keeper.renew(node.log.end_offset)  # so that there is a snapshot
    node.run(10)
    old = node.log.snapshots()[-1]
    names = node.disk.list_directory(LOG)
    name = snapshot_file(old) if what == "snapshot" else next(name for name in names if name.endswith(".log"))
    node.run(20)
    assert not errors(node)
    rot(node, name, 40)
    node.run(30)
    assert [name in text for text in errors(node)] == [True], "once, though the round comes by again"
    assert node.node.upkeep.keeper.damages == 1
    assert name not in node.disk.list_directory(LOG)
    assert node.log.snapshots()[-1].offset > old.offset
    LoneController(node.disk.survivors("synced only"), started_at=node.now).run(1)


def test_a_disk_that_is_well_is_scrubbed_in_silence() -> None:
    node = LoneController(snapshots=SCRUBBING)
    node.run(60)
    assert len(node.effects(e.ScrubLog)) >= 55
    assert node.log._scrub.rounds >= 5
    assert not errors(node)
    assert not node.effects(e.TakeSnapshot)
    assert LoneController(snapshots=NEVER).node.upkeep.scrubber.next_deadline() == float("inf")


def test_a_start_refuses_a_damaged_segment_by_name() -> None:
    """Before there is an image nothing can replace it: the voter's disk must be."""
    node = LoneController(snapshots=NEVER)
    node.run(30)
    rot(node, f"{0:020}.log", 40)
    with pytest.raises(CorruptFile, match=f"{0:020}.log at byte"):
        LoneController(node.disk.survivors("everything"))
