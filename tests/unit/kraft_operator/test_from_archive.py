"""bootstrap.fromArchive: a new cluster is formed from an archive once, of what the guard lets through, and never where
there was one before.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.ledger import Formation
from kraft_operator.ledger_format import parse, render
from kraft_operator.plan.situation import Decision
from kraft_operator.status import status
from storage_guard.facts import DirectoryIdentity, LogEnd, VolumeFacts
from support.operator_model.drills import ASKED, CLAIM, CUT, END, OLD, VOLUME, Drill
from support.operator_model.world import Disk, LiveClaim, World, refused, resource

pytestmark = pytest.mark.unit


def shown(world: World, decision: Decision) -> dict[str, Any]:
    return status(world.cluster, world.observed(), decision, {}, "now")


def test_a_cluster_is_formed_from_the_archive_once_and_says_what_it_did_not_take() -> None:
    world = Drill()
    before = world.disks[VOLUME].facts
    decision = world.settle(120)
    assert not world.broken
    ledger = world.ledger
    assert ledger is not None
    assert (ledger.formation, ledger.operation, ledger.recovery) == (Formation.FORMED, None, None)
    assert ledger.cluster_id != OLD, "two clusters of one history must not take each other's nodes"
    assert len(world.running_voters()) == 3
    assert world.acknowledged > CUT
    made = [node for mode, _, node, _ in world.formats if mode == "recovered"]
    assert made == [0], "one directory is made, the others are formatted empty and catch up"
    assert world.disks[VOLUME].facts == before, "the archive is only read"
    told = shown(world, decision)["fromArchive"]
    assert (told["end"], told["archiveEnd"], told["clusterID"]) == (CUT, END, OLD)
    assert (told["topicsNotTaken"], told["topicsBack"], told["moreTopics"]) == (["late"], ["gone"], 3)
    assert f"offsets {CUT} to {END - 1}" in told["notTaken"]
    assert parse(render(ledger)) == ledger
    world.settle(40)
    assert [mode for mode, *_ in world.formats].count("recovered") == 1
    assert all(world.pods[broker].runs for broker in (100, 101))


def test_no_node_runs_before_and_an_operator_that_dies_anywhere_is_followed_by_one_that_goes_on() -> None:
    world = Drill()
    seen = set()
    for _ in range(60):
        if world.ledger is not None and world.ledger.recovery is not None:
            assert not world.pods
            seen.add(world.ledger.recovery.stage)
        world.reconcile(stop_after=1)  # it dies after the first action of every pass
        world.kubelet()
    world.settle(120)
    assert len(seen) >= 2
    assert not world.broken
    assert [mode for mode, *_ in world.formats].count("recovered") == 1
    assert len(world.running_voters()) == 3


def test_what_the_guard_refuses_forms_nothing_and_is_told_with_its_remedy() -> None:
    world = Drill()
    world.refusal = "restore the volume of the archive: it is damaged"
    decision = world.settle(40)
    assert "ArchiveRefused" in refused(decision)
    (told,) = [each for each in decision.findings if each.reason == "ArchiveRefused"]
    assert world.refusal in told.message
    assert "Delete the pod" in told.message
    assert not world.pods
    assert not world.formats
    ready = {each["type"]: each for each in shown(world, decision)["conditions"]}["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "ArchiveRefused")
    world.refusal = ""
    world.helpers.clear()
    world.settle(120)
    assert len(world.running_voters()) == 3, "once it is mended and the pod deleted it goes on"


def test_an_archive_that_is_not_there_is_waited_for() -> None:
    world = Drill()
    world.bound = ""
    assert "ArchiveNotFound" in refused(world.settle(40))
    assert not world.formats


def test_disks_that_hold_something_are_never_written_over() -> None:
    world = Drill()
    identity = DirectoryIdentity("AnotherAnotherAnotherA", 0, "a-directory")
    world.disks["pv-old"] = Disk("pv-old", VolumeFacts(identity, None, LogEnd(3, 30)))
    world.claims["data-c-controller-0-0"] = LiveClaim("uid-old", "pv-old")
    held = world.disks["pv-old"].facts
    assert "AdoptionConflict" in refused(world.settle(40))
    assert (world.disks["pv-old"].facts, world.formats) == (held, [])


def test_a_cluster_that_formed_before_takes_nothing_and_says_so() -> None:
    world = World()
    world.settle(80)
    formats = list(world.formats)
    world.edit(bootstrap={"fromArchive": ASKED})
    decision = world.settle(40)
    assert "FormedBefore" in refused(decision)
    assert world.formats == formats
    assert len(world.running_voters()) == 3


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"time": "2026-11-24T19:40:11Z"}, "time"),
        ({"offset": -1}, "offset"),
        ({"offset": None, "time": "yesterday"}, "time"),
        ({"offset": None, "time": "2026-11-24T19:40:11"}, "time"),
    ],
)
def test_a_point_that_is_none_is_refused_by_its_path(change: dict[str, Any], path: str) -> None:
    asked = {key: value for key, value in {**ASKED, **change}.items() if value is not None}
    with pytest.raises(InvalidSpec) as error:
        parse_cluster(resource(bootstrap={"fromArchive": asked}))
    assert error.value.path == f"spec.bootstrap.fromArchive.{path}"


def test_a_time_is_told_to_the_guard_in_milliseconds() -> None:
    asked = {"claimName": CLAIM, "clusterID": OLD, "time": "2026-11-24T20:40:11.5+01:00"}
    found = parse_cluster(resource(bootstrap={"fromArchive": asked})).spec.from_archive
    assert found is not None
    assert found.point == "time:1795549211500"
