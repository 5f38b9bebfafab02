"""Kafka's simulation scenarios (kraft-facts 5.2), each told on whole controllers, with every invariant looking."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, NodeId, OffsetAndEpoch
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.parts.events import ShutdownRequested
from controller_runtime.raft.events import SnapshotTaken
from controller_runtime.storage.snapshot_batches import SnapshotContent, snapshot_bytes
from simulation.invariants.durable_majority import DurableMajority
from simulation.invariants.log_agreement import LogAgreement
from simulation.invariants.persisted_epoch import PersistedEpoch
from support.simulation.fleet import Timings
from support.simulation.machine import Machine
from support.simulation.stage import Stage

pytestmark = pytest.mark.simulation

SEEDS = pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 9))])
FLEETS = pytest.mark.parametrize("dynamic", [True, False], ids=["dynamic", "static"])


@FLEETS
@pytest.mark.parametrize("voters", [1, 2, 3, 4, 5])
def test_a_first_leader_is_elected_and_everybody_follows(voters: int, dynamic: bool) -> None:  # SIM-01
    stage = Stage(voters, voters, observers=1, dynamic=dynamic)
    stage.wait_for_progress(5)
    stage.wait_until_all_agree()


@SEEDS
def test_after_the_leader_is_killed_the_others_go_on_and_it_catches_up(seed: int) -> None:  # SIM-02
    stage = Stage(seed, 3)
    stage.wait_for_progress()
    killed = stage.wait_for_leader()
    stage.world.kill(killed, power_loss=True)
    assert stage.wait_for_leader(killed) != killed
    stage.wait_for_progress()
    stage.world.boot(killed)
    stage.wait_for_progress()
    stage.wait_until_all_agree()


@SEEDS
def test_a_killed_leader_is_replaced_before_any_fetch_timeout(seed: int) -> None:
    stage = Stage(seed, 3)
    stage.wait_for_progress()
    stage.for_a_while(1.0)
    killed = stage.wait_for_leader()
    stage.world.kill(killed, power_loss=False)
    took = stage.until("a new leader", lambda: stage.leader() not in (None, killed))
    assert took < 0.3, f"{took:.3f} s"


@pytest.mark.parametrize("seed", [17, *(pytest.param(n, marks=pytest.mark.slow) for n in (20, 28, 105, 111))])
def test_followers_that_stand_at_one_moment_do_not_wait_for_the_leader_that_froze(seed: int) -> None:
    """They split the vote; with the third voter silent neither can be sure to have lost, and one election timeout is 1
    to 2 s.
    """
    stage = Stage(seed, 3, timings=Timings(fetch_timeout_ms=700, fetch_max_wait_ms=233))
    stage.wait_for_progress()
    stage.for_a_while(1.0 + seed % 100 * 0.013)
    frozen = stage.wait_for_leader()
    stage.world.pause(frozen, 10.0)
    took = stage.until("a new leader", lambda: stage.leader() not in (None, frozen))
    assert took < 1.5, f"{took:.3f} s"


@SEEDS
def test_a_leader_that_is_stopped_hands_over(seed: int) -> None:  # SIM-02
    stage = Stage(seed, 3)
    stage.wait_for_progress()
    stage.for_a_while(1.0)
    stopped = stage.wait_for_leader()
    stage.machine(stopped).feed(ShutdownRequested())
    took = stage.until("a new leader", lambda: stage.leader() not in (None, stopped))
    assert took < 0.5, f"{took:.3f} s"
    stage.until("its process ends", lambda: not stage.machine(stopped).is_up)
    stage.wait_for_progress()


@SEEDS
def test_a_bare_majority_of_a_dead_quorum_goes_on(seed: int) -> None:  # SIM-03
    stage = Stage(seed, 5)
    stage.wait_for_progress()
    for node in stage.nodes:
        stage.world.kill(node, power_loss=True)
    stage.for_a_while(1.0)
    for node in stage.nodes[:3]:
        stage.world.boot(node)
    stage.wait_for_progress()
    stage.wait_until_all_agree()


@SEEDS
def test_the_rest_goes_on_when_the_leader_is_cut_off(seed: int) -> None:  # SIM-04
    stage = Stage(seed, 3)
    stage.wait_for_progress()
    leader = stage.wait_for_leader()
    stage.world.network.isolate(leader, stage.nodes)
    stage.wait_for_leader(leader)
    stage.wait_for_progress()
    stage.until("the cut off leader resigns", lambda: len(stage.leaders_seen()) == 1)


@SEEDS
def test_only_the_majority_side_goes_on_and_all_converge_when_healed(seed: int) -> None:  # SIM-05
    stage = Stage(seed, 5)
    stage.wait_for_progress()
    minority, majority = stage.nodes[:2], stage.nodes[2:]
    for one in minority:
        for other in majority:
            stage.world.network.cut_both(one, other)
    stage.until("a leader in the majority", lambda: stage.leader() in majority)
    stage.for_a_while(4.0)
    stage.wait_for_progress()
    high = [m.node.meta.high_watermark for m in stage.world.up if m.node]
    assert max(high[:2]) < min(high[2:])
    stage.world.network.heal()
    stage.wait_for_progress()
    stage.wait_until_all_agree()


@SEEDS
def test_a_partial_partition_does_not_move_an_established_leader(seed: int) -> None:  # SIM-07, INV-07, KIP-996
    stage = Stage(seed, 3)
    stage.wait_for_progress()
    leader = stage.wait_for_leader()
    before = stage.leaders_seen()
    lonely = next(node for node in stage.nodes if node != leader)
    stage.world.network.cut_both(lonely, leader)
    stage.for_a_while(30.0)
    assert stage.leaders_seen() == before
    stage.wait_for_progress()


@SEEDS
def test_one_leadership_emerges_in_a_partial_partition(seed: int) -> None:  # SIM-06, INV-07
    stage = Stage(seed, 5)
    stage.world.network.cut_both(NodeId(1), NodeId(2))
    stage.world.network.cut_both(NodeId(1), NodeId(3))
    stage.wait_for_progress()
    stage.for_a_while(10.0)
    before = stage.leaders_seen()
    stage.for_a_while(20.0)
    assert stage.leaders_seen() == before
    assert len(before) == 1


@SEEDS
def test_back_to_back_isolation_of_leaders_does_not_stop_the_quorum(seed: int) -> None:  # SIM-08
    stage = Stage(seed, 5)
    stage.wait_for_progress()
    first = stage.wait_for_leader()
    stage.world.network.isolate(first, stage.nodes)
    second = stage.wait_for_leader(first)
    stage.wait_for_progress()
    stage.world.network.heal()
    stage.world.network.isolate(second, stage.nodes)
    stage.wait_for_leader(second)
    stage.wait_for_progress()
    stage.world.network.heal()
    stage.wait_for_progress()
    stage.wait_until_all_agree()


@SEEDS
def test_a_voter_that_lost_its_disk_rejoins_without_losing_what_is_committed(seed: int) -> None:  # SIM-09
    """With the same directory id, as Kafka's scenario has it; its promises are gone, so others must lead first."""
    stage = Stage(seed, 3, but=(PersistedEpoch, DurableMajority))
    stage.wait_for_progress()
    lost = stage.wait_for_leader()
    stage.world.kill(lost, power_loss=False)
    stage.wait_for_leader(lost)
    stage.wait_for_progress()
    machine = stage.machine(lost)
    machine.wipe()
    stage.world.boot(lost)
    stage.wait_for_progress()
    stage.wait_until_all_agree()


@SEEDS
def test_a_node_behind_the_logs_start_fetches_the_snapshot(seed: int) -> None:  # SNP-13, SNP-14
    """The leader drops its log below a snapshot while a follower is away with an empty disk."""
    stage = Stage(seed, 3, but=(PersistedEpoch, DurableMajority, LogAgreement))
    stage.wait_for_progress(10)
    leader = stage.wait_for_leader()
    away = next(node for node in stage.nodes if node != leader)
    stage.world.kill(away, power_loss=True)
    machine = stage.machine(away)
    machine.wipe()
    stage.wait_for_progress()
    for node in stage.nodes:
        if node != away:
            shorten_log(stage, stage.machine(node))
    stage.world.boot(away)
    stage.wait_for_progress()
    stage.wait_until_all_agree()
    assert machine.log is not None
    assert machine.log.start_offset > 0
    assert machine.node is not None
    assert machine.node.meta.replica.voters.ids == stage.nodes


def shorten_log(stage: Stage, machine: Machine) -> None:
    """What snapshot generation will do (issue 4): write the committed image as a snapshot and begin the log there."""
    node, log = machine.node, machine.log
    assert node is not None
    assert log is not None
    stage.until("its disk is idle", lambda: machine.process is not None and not machine.process.is_writing)
    end = node.image_offset
    epoch = max(epoch for epoch, start in log.epoch_starts() if start < end)
    version, voters = node.meta.replica.voter_history.at(end)
    from controller_runtime.node.quorum.control_batches import to_message

    record = to_message(voters)
    values = tuple(encode_record(*one) for one in snapshot_records(node.image))
    content = SnapshotContent(0, version, record, values)  # type: ignore[arg-type]
    snapshot_id = OffsetAndEpoch(end, Epoch(epoch))
    log.write_snapshot(snapshot_id, 0, snapshot_bytes(content, epoch, 0), last=True)
    pending = log.take_pending_write()
    assert pending is not None
    pending.perform()
    log.complete(pending)
    node.meta.replica.step(SnapshotTaken(snapshot_id), machine.now)
    log.delete_before(snapshot_id)
    node.meta.replica.log.start_offset = log.start_offset
    node.meta.replica.log.epoch_starts[:] = log.epoch_starts()
