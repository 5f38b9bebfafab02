"""A quorum of one made from a copy of the log: it leads with every record of the copy, the copy is untouched, and a
helper may be killed anywhere.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.node.quorum.snapshots import SnapshotConfig as Snapshots
from controller_runtime.protocol.messages.voters_record import Voter, VotersRecord
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import load_quorum_state
from storage_guard.copies import CopyReport, Helper, State
from storage_guard.facts import LedgerFacts, PodFacts
from storage_guard.formats import DiskVerdict, Identity
from storage_guard.helping import help_out
from storage_guard.judge import judge
from storage_guard.recover import Order, RecoveryRefused, _down_to, recover, set_aside
from storage_guard.survey import last_voters, survey
from storage_guard.volume import Volume
from support.disks.memory_disk import Crashed, MemoryDisk
from support.nodes.lone_controller import (
    CLUSTER_ID,
    DATA,
    LOG,
    SMALL_SEGMENTS,
    LoneController,
    directory_of,
    own_config,
)

pytestmark = pytest.mark.properties

NEW = NodeId(2)


def stopped(seconds: float = 30.0, *, snapshots: bool = False) -> MemoryDisk:
    """The disk of a controller that wrote for a while (no-op records, snapshots if they are asked for) and
    was killed.
    """
    often = Snapshots(max_interval_ms=5000) if snapshots else Snapshots()
    node = LoneController(snapshots=often)
    node.run(seconds)
    return node.disk.survivors("synced only")


def order_for(found: CopyReport) -> Order:
    return Order(
        CLUSTER_ID, NEW, 1, str(directory_of(NEW)), "nonce-1", found.promised + 7, found.end, found.last_epoch,
        "CONTROLLER", "controller-2", 9093,
    )  # fmt: skip


def made(disk: MemoryDisk, order: Order) -> CopyReport:
    return recover(disk, DATA, DATA, order, "pod-1", 1_795_000_000_000, "Sat")


def files(disk: MemoryDisk, below: str) -> dict[str, bytes]:
    """Without indexes, which are made anew from the log."""
    return {
        path.removeprefix(below): bytes(node.data)
        for path, node in disk.names.items()
        if path.startswith(below + "/") and not path.endswith("index")
    }


@pytest.mark.parametrize("snapshots", [False, True])
def test_the_new_quorum_leads_with_every_record_of_the_copy(snapshots: bool) -> None:
    disk = stopped(snapshots=snapshots)
    found, before = survey(disk, DATA), files(disk, DATA)
    assert found.state is State.COPY
    assert (found.known > 0) is snapshots
    order = order_for(found)
    done = made(disk, order)
    assert (done.state, done.directory_id) == (State.DONE, order.directory_id)
    assert files(disk, "/log.generation-1") == before, "the copy was written to"
    again = survey(disk, DATA)
    assert (again.last_epoch, again.promised) == (order.epoch, order.epoch)
    assert again.end == found.end + 3  # kraft.version, both voters, the new one
    assert again.voters == ((NEW, order.directory_id),)
    state = load_quorum_state(disk, LOG)
    assert state is not None
    assert state.voted_id is None

    node = LoneController(disk, config=own_config(NEW, directory_of(NodeId(9)), Snapshots(), dynamic=True))
    node.run(10)
    assert survey(disk, DATA).last_epoch > order.epoch, "it did not become the leader"
    old = MetadataLog.open(_only(before), LOG, SMALL_SEGMENTS)
    assert node.log.read(old.start_offset, 1 << 20)[: len(old.read(old.start_offset, 1 << 20))] == old.read(
        old.start_offset, 1 << 20
    )


def test_the_only_voter_has_all_its_listeners_in_the_log() -> None:
    """While a cluster becomes secure others find it by one of them and some by another."""
    disk = stopped(8.0)
    order = order_for(survey(disk, DATA))
    asked = {
        "CLUSTER_ID": order.cluster_id, "NODE_ID": str(NEW), "GENERATION": "1", "DIRECTORY_ID": order.directory_id,
        "NONCE": order.nonce, "EPOCH": str(order.epoch), "END": str(order.end), "LAST_EPOCH": str(order.last_epoch),
        "LISTENER": "SECURE", "HOST": "controller-2", "PORT": "9095", "BESIDE": "CONTROLLER://controller-2:9093",
        "SOURCE": DATA, "LOG_DIRECTORY": DATA, "POD_UID": "pod-1",
    }  # fmt: skip
    succeeded, line = help_out(disk, Helper.RECOVER, asked, 1_795_000_000_000, "Sat")
    assert succeeded, line
    found = last_voters(disk, LOG)
    assert found is not None
    assert [(each.name, each.host, each.port) for each in found.voters[0].endpoints] == [
        ("SECURE", "controller-2", 9095), ("CONTROLLER", "controller-2", 9093),
    ]  # fmt: skip


def _only(content: dict[str, bytes]) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directories(LOG)
    for path, data in content.items():
        disk.open(DATA + path, create=True).write_at(0, data)
    return disk


def test_a_helper_killed_at_any_operation_is_followed_by_one_that_finishes() -> None:
    origin = stopped(8.0)
    order = order_for(survey(origin, DATA))
    whole = origin.survivors("everything")
    made(whole, order)
    wanted = files(whole, DATA)
    steps = len(whole.operations)
    assert steps > 20
    for kill in range(steps):
        disk = origin.survivors("everything")
        disk.crash_after(kill)
        with pytest.raises(Crashed):
            made(disk, order)
        after = disk.survivors("synced only" if kill % 2 else "half of unsynced")
        made(after, order)
        assert files(after, DATA) == wanted, f"killed after {kill} of {steps} operations"
        assert files(after, "/log.generation-1") == files(origin, DATA)
        before = list(after.operations)
        made(after, order)
        assert not {"create", "rename"} & {each for each in after.operations[len(before) :] if each == "mkdir"}


def test_the_gate_knows_the_new_directory_and_refuses_the_old_one() -> None:
    disk = stopped(5.0)
    order = order_for(survey(disk, DATA))
    old = disk.survivors("everything")
    made(disk, order)
    ledger = LedgerFacts(Identity(CLUSTER_ID, NEW, order.directory_id, order.nonce, order.epoch, order.end + 2))
    pod = PodFacts("pod-2", NEW, CLUSTER_ID, is_controller=True)
    assert judge(Volume(disk, DATA).read(), ledger, pod).verdict is DiskVerdict.FORMATTED
    assert judge(Volume(disk, DATA).read(), ledger, pod).reason == "Known"
    assert judge(Volume(old, DATA).read(), ledger, pod).verdict is DiskVerdict.FOREIGN


def test_a_volume_whose_directory_was_set_aside_is_empty_and_keeps_it() -> None:
    disk = stopped(5.0)
    before = files(disk, DATA)
    set_aside(disk, DATA, 1)
    facts = Volume(disk, DATA).read()
    pod = PodFacts("pod-2", 1, CLUSTER_ID, is_controller=True)
    assert judge(facts, LedgerFacts(), pod).verdict is DiskVerdict.EMPTY
    assert files(disk, "/log.generation-1") == before
    set_aside(disk, DATA, 1)
    assert files(disk, "/log.generation-1") == before


def test_another_log_than_the_one_that_was_judged_is_refused() -> None:
    disk = stopped(5.0)
    order = order_for(survey(disk, DATA))
    before = files(disk, DATA)
    with pytest.raises(RecoveryRefused, match="the verdict was about"):
        made(disk, replace(order, end=order.end - 1))
    assert files(disk, DATA) == before


def test_digests_are_equal_below_a_point_and_differ_above_a_changed_byte() -> None:
    disk = stopped(10.0)
    found = survey(disk, DATA)
    points = (found.end // 2, found.end)
    one = survey(disk, DATA, 0, points).digests
    assert set(one) <= set(points)
    assert found.end in one
    torn = disk.survivors("everything")
    newest = max(path for path in torn.names if path.endswith(".log") and torn.names[path].data)
    del torn.names[newest].data[-1:]
    shorter = survey(torn, DATA, 0, points)
    assert shorter.end < found.end
    assert found.end not in shorter.digests


def test_what_cannot_be_read_ends_with_a_sentence_and_no_report() -> None:
    disk = stopped(5.0)
    succeeded, line = help_out(disk, Helper.SURVEY, {"LOG_DIRECTORY": DATA}, 0, "Sat")
    assert (succeeded, CopyReport.from_json(line).state) == (True, State.COPY)
    assert help_out(disk, Helper.SURVEY, {"LOG_DIRECTORY": "/empty"}, 0, "Sat")[0]
    disk.open(f"{DATA}/meta.properties").truncate(5)
    succeeded, line = help_out(disk, Helper.SURVEY, {"LOG_DIRECTORY": DATA}, 0, "Sat")
    assert not succeeded
    assert "meta.properties" in line


def voter(node_id: int, directory: int) -> Voter:
    return Voter(voter_id=NodeId(node_id), voter_directory_id=directory_of(NodeId(directory)))


@pytest.mark.parametrize("old", [(), (7,), (2,), (1, 2, 3), (1, 3, 5), (1, 2, 3, 4, 5)])
def test_a_replica_accepts_every_step_from_the_old_voters_to_the_only_one(old: tuple[int, ...]) -> None:
    """At most one comes or goes at a time, no node is there twice, and no set is empty."""
    before = VotersRecord(voters=tuple(voter(each, 10 + each) for each in old)) if old else None
    only = VotersRecord(voters=(voter(2, 99),))
    found = _down_to(only, before)
    assert found[-1] == only
    chain = [*([before] if before else []), *found]
    for one, other in pairwise(chain):
        mine, theirs = ({(each.voter_id, each.voter_directory_id) for each in record.voters} for record in (one, other))
        assert len(mine ^ theirs) == 1
    assert all(
        record.voters and len({each.voter_id for each in record.voters}) == len(record.voters) for record in chain
    )
