"""A further volume that the resource names no more: closed, emptied, proven to be empty, then done without."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.actions import ApplyChild, CordonBroker, DropClaim, RestartPod, UncordonBroker, WriteLedger
from kraft_operator.directories import Directories, Directory
from kraft_operator.ledger import Removal
from kraft_operator.ledger_format import parse, render
from kraft_operator.plan.disks.rooms import NoPlace, placed
from kraft_operator.plan.situation import Decision
from kraft_operator.removals import DropVolume, EmptyDirectory
from support.operator_model.compared import compared_pass
from support.operator_model.world import CORDONS, World, pool

pytestmark = pytest.mark.unit

ONE, TWO = "/var/lib/kafka/data-one/log", "/var/lib/kafka/data-two/log"


def jbod(*volumes: str, **more: object) -> dict[str, Any]:
    storage = {"size": "1Gi", "volumes": [{"name": name, "size": "2Gi"} for name in volumes]}
    return {
        "brokerPools": [{**pool("b", 2, 100), "storage": storage}],
        "image": {"repository": "kafka", "tag": "2"},
        **more,
    }


def running(*volumes: str, replicas: int = 3, **more: object) -> World:
    """Brokers of 4.3 with replicas on each volume."""
    world = World(**jbod(*volumes, **more))
    world.settle()
    world.finalized["metadata.version"] = CORDONS
    for index in range(replicas * (len(volumes) + 1)):
        world.place("t", 100, 101)
        for broker in (100, 101):
            world.lie(broker, "t", index, ("", *volumes)[index % (len(volumes) + 1)])
    world.settle()
    world.writes.clear()
    return world


def kinds(world: World) -> list[str]:
    told = (CordonBroker, UncordonBroker, EmptyDirectory, DropVolume, RestartPod, DropClaim)
    return [
        f"{type(each).__name__} {getattr(each, 'node_id', '')}".strip()
        for each in world.writes
        if isinstance(each, told)
    ]


def message(decision: Decision, reason: str) -> str:
    return next(each.message for each in decision.findings if each.reason == reason)


def volumes_of(world: World) -> set[frozenset[str]]:
    return {frozenset(pod.further) for node, pod in world.pods.items() if node >= 100}


def until(world: World, kind: type) -> None:
    for _ in range(60):
        if any(isinstance(each, kind) for each in world.writes):
            return
        world.reconcile()
        world.kubelet()
    raise AssertionError(f"no {kind.__name__}")


def test_every_directory_is_closed_emptied_and_done_without_in_this_order() -> None:
    world = running("one", "two")
    world.edit(**jbod("two"))
    assert not world.settle(80).findings
    assert kinds(world) == [
        "CordonBroker 100", "CordonBroker 101", "EmptyDirectory 100", "EmptyDirectory 101", "DropVolume",
        "RestartPod", "UncordonBroker 100", "RestartPod", "UncordonBroker 101",
    ]  # fmt: skip
    assert volumes_of(world) == {frozenset({"two"})}
    assert set(world.lies.values()) == {"", "two"}
    assert (world.closed, world.cordoned, world.broken) == ({}, set(), [])
    assert "data-one-c-b-100-0" in world.claims


def test_it_is_written_down_before_anything_is_closed_or_done_without() -> None:
    world = running("one")
    world.edit(**jbod())
    written = [each for each in world.plan().actions if isinstance(each, WriteLedger | CordonBroker)]
    assert isinstance(written[0], WriteLedger)
    assert written[0].ledger.removals == (Removal("b", "one", closed=(100, 101)),)
    assert parse(render(written[0].ledger)) == written[0].ledger
    until(world, DropVolume)
    place = next(at for at, each in enumerate(world.writes) if isinstance(each, DropVolume))
    ledger = next(each for each in reversed(world.writes[:place]) if isinstance(each, WriteLedger)).ledger
    assert [each.gone for each in ledger.removals] == [True]


def test_twenty_replicas_move_at_a_time() -> None:
    world = running("one", replicas=25)
    world.edit(**jbod())
    world.settle(80)
    moved = [len(each.replicas) for each in world.writes if isinstance(each, EmptyDirectory) and each.node_id == 100]
    assert moved == [20, 5]


def test_claims_go_only_where_volumes_go_with_the_resource_and_when_no_pod_has_them() -> None:
    world = running("one", deletionPolicy={"volumes": "Delete"})
    world.edit(**jbod(deletionPolicy={"volumes": "Delete"}))
    assert not world.settle(80).findings
    assert kinds(world)[-2:] == ["DropClaim", "DropClaim"]
    assert not any(name.startswith("data-one-") for name in world.claims)
    assert world.ledger is not None
    assert (world.ledger.removals, world.ledger.volumes) == ((), ())
    assert not world.broken


def test_it_is_taken_back_before_the_point_of_no_return_and_nothing_restarts() -> None:
    world = running("one")
    world.edit(**jbod())
    until(world, EmptyDirectory)
    world.edit(**jbod("one"))
    assert not world.settle().findings
    assert kinds(world)[-2:] == ["UncordonBroker 100", "UncordonBroker 101"]
    assert (world.closed, world.restarts, world.broken) == ({}, [], [])
    assert world.ledger is not None
    assert world.ledger.removals == ()


def test_it_is_taken_back_afterwards_with_the_directories_that_it_had() -> None:
    world = running("one")
    ledger = world.ledger
    assert ledger is not None
    before = ledger.volumes
    world.edit(**jbod())
    until(world, RestartPod)
    world.edit(**jbod("one"))
    assert not world.settle(80).findings
    assert volumes_of(world) == {frozenset({"one"})}
    assert world.ledger is not None
    assert {(each.node_id, each.directory_id) for _, each in world.ledger.volumes} == {
        (each.node_id, each.directory_id) for _, each in before
    }
    assert not world.broken


def test_what_comes_after_the_proof_keeps_a_pod_from_its_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    world = running("one")
    world.edit(**jbod())
    until(world, DropVolume)
    with monkeypatch.context() as patch:
        patch.setattr(world, "_relocated", lambda: False)  # the copy takes its time
        world.lie(100, "t", 0, "one")
        held = world.reconcile()
        for _ in range(6):
            world.kubelet()
            held = world.reconcile()
        assert "volume one was not seen to be empty" in message(held, "RestartDeferred")
        order = kinds(world)
        assert "EmptyDirectory 100" in order[order.index("DropVolume") :]
        assert world.restarts == [101]
    world.settle(80)
    assert volumes_of(world) == {frozenset()}
    assert not world.broken


def test_below_metadata_version_4_3_it_stays_with_the_remedy() -> None:
    world = running("one")
    world.finalized["metadata.version"] = CORDONS - 1
    world.edit(**jbod())
    told = message(world.settle(), "VolumeKept")
    assert told.startswith("put volume one back into storage.volumes of pool b, raise metadata.version to 4.3-IV0")
    assert kinds(world) == []


def test_without_room_on_the_other_volumes_it_stays_with_the_remedy() -> None:
    world = running("one")
    world.room[101, ""] = 3_000_000
    world.edit(**jbod())
    told = message(world.settle(), "VolumeKept")
    assert "make room on the other volumes of broker 101: t-" in told
    assert kinds(world) == []
    world.room.clear()
    assert not world.settle(80).findings


def test_a_cordon_of_somebody_else_is_neither_lifted_nor_written_over() -> None:
    world = running("one", "two")
    world.closed[100] = (TWO,)
    world.edit(**jbod("two"))
    assert f"lift what else cordoned.log.dirs of broker 100 names ({TWO})" in message(world.settle(), "VolumeKept")
    assert (kinds(world), world.closed) == ([], {100: (TWO,)})


def test_who_does_not_tell_what_lies_there_is_waited_for() -> None:
    world = running("one")
    world.freeze(101)
    world.edit(**jbod())
    held = world.reconcile()
    for _ in range(5):
        world.kubelet()
        held = world.reconcile()
    assert "broker 101 does not tell what lies there" in message(held, "RemovingVolume")
    assert kinds(world) == []


def test_two_volumes_leave_with_one_restart() -> None:
    world = running("one", "two")
    world.edit(**jbod())
    assert not world.settle(80).findings
    assert world.restarts == [100, 101]
    assert {each.directories for each in world.writes if isinstance(each, CordonBroker)} == {(ONE, TWO)}
    assert not world.broken


def test_what_is_published_is_what_is_done_and_waits_for_its_approval() -> None:
    world = running("one")
    world.edit(**jbod(changePolicy={"mode": "Plan"}))
    world.settle()
    assert kinds(world) == []
    steps = [each.id.partition("/")[0] for each in world.published.ahead]
    assert [each for each in steps if each != "apply-node"] == [
        "cordon", "cordon", "empty", "empty", "drop-volume", "restart", "restart",
    ]  # fmt: skip
    assert [each.lemma for each in world.published.ahead if each.action == "DropVolume"] == ["V1"]
    name = world.published.hash
    world.approve()
    hashes = set()
    for _ in range(60):
        world.reconcile()
        world.kubelet()
        hashes.add(world.published.hash)
    assert hashes <= {name, ""}
    assert volumes_of(world) == {frozenset()}


def test_a_lost_ledger_is_made_again_without_the_volume() -> None:
    world = running("one")
    world.edit(**jbod())
    world.settle(80)
    world.lose_ledger()
    world.restarts.clear()
    world.settle(80)
    assert world.restarts == []
    assert volumes_of(world) == {frozenset()}


def test_a_claim_that_was_kept_and_is_deleted_later_is_no_loss() -> None:
    world = running("one")
    world.edit(**jbod())
    world.settle(80)
    kept = [each for each in world.claims if each.startswith("data-one-")]
    world.away |= {world.claims[name].volume: True for name in kept}  # its machine is gone for good
    assert not world.settle().findings
    for name in kept:
        world.lost |= world.disks.pop(world.claims.pop(name).volume).ran
    assert not world.settle().findings
    assert world.ledger is not None
    assert (world.ledger.removals, world.ledger.volumes, world.ledger.written_off) == ((), (), ())
    world.edit(**jbod("one"))
    assert not world.settle(80).findings
    assert volumes_of(world) == {frozenset({"one"})}


def test_the_operators_own_model_of_its_actions_is_that_of_the_world() -> None:
    world = running("one", deletionPolicy={"volumes": "Delete"})
    world.edit(**jbod(deletionPolicy={"volumes": "Delete"}))
    seen: set[type] = set()
    for _ in range(40):
        seen |= compared_pass(world)
        if DropClaim in seen:
            break
    assert {CordonBroker, EmptyDirectory, DropVolume, UncordonBroker, DropClaim, ApplyChild} <= seen


# places


def directory(path: str, usable: int = 1000, **sizes: int) -> Directory:
    return Directory(path, {(topic, 0): size for topic, size in sizes.items()}, usable=usable)


def test_replicas_go_where_most_is_free_the_largest_first() -> None:
    seen = Directories((directory("/a", 500), directory("/b", 400), directory("/c", big=200, small=50, middle=100)))
    assert placed(seen, ["/c"], 20) == {("big", 0): "/a", ("middle", 0): "/b", ("small", 0): "/b"}


def test_what_is_on_its_way_is_asked_for_no_more_and_counted() -> None:
    on_its_way = Directory("/a", coming={("big", 0): 10}, usable=500)
    seen = Directories((on_its_way, directory("/c", big=200, small=50)))
    assert placed(seen, ["/c"], 20) == {("small", 0): "/a"}
    assert placed(seen, ["/c"], 1) == {}


@pytest.mark.parametrize(("usable", "told"), [(100, "big-0 has"), (-1, "does not say")])
def test_what_has_no_place_is_named(usable: int, told: str) -> None:
    found = placed(Directories((directory("/a", usable), directory("/c", big=100))), ["/c"], 20)
    assert isinstance(found, NoPlace)
    assert told in found.text


def test_only_a_closed_and_empty_directory_is_proven_to_be_empty() -> None:
    bare = directory("/c")
    assert Directories((bare,), ("/c",)).proves_empty("/c")
    assert not Directories((bare,), ("/a",)).proves_empty("/c")
    assert not Directories((bare,), None).proves_empty("/c")
    assert not Directories((directory("/c", t=0),), ("*",)).proves_empty("/c")
    assert not Directories((Directory("/c", coming={("t", 0): 1}),), ("*",)).proves_empty("/c")
