"""`kubectl kraft status`: what one screen tells of a cluster, made from statuses that the real planner writes; and what
the other commands patch.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.kube import Kind, NotFound
from kraft_operator.plugin.main import parser, run
from kraft_operator.plugin.view import screen
from kraft_operator.status import status
from support.operator_model.world import World, resource

pytestmark = pytest.mark.unit


def seen(world: World) -> dict[str, Any]:
    decision = world.plan()
    written = status(world.cluster, world.observed(), decision, {}, "2026-11-21T00:00:00Z")
    return {**resource(), "status": written}


def test_a_sound_cluster_is_a_quorum_and_its_nodes_and_nothing_to_know() -> None:
    world = World()
    world.settle()
    lines = screen(seen(world)).splitlines()
    assert lines[0] == "n/c  Ready"
    assert "quorum  Available, leader 0 in epoch 1; 3 of 3 voters live, 1 more may be lost" in lines
    assert [line.split()[2] for line in lines if "c-controller-1-0" in line] == ["Live", "Ready"]
    assert "nodes   controllers 3/3 ready, brokers 2/2 ready" in lines
    assert "to know" not in lines
    assert "plan" not in lines


def test_where_the_voters_are_is_told_and_whether_one_place_is_a_majority() -> None:
    controllers = {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
    world = World(controllers={**controllers, "failureDomains": {}})
    world.zones = {0: "east", 1: "east", 2: "west"}
    world.settle()
    resource = seen(world)
    lines = screen(resource).splitlines()
    assert "  in east: 0, 1 (a majority)" in lines
    assert "  in west: 2" in lines
    assert "  FailureDomainsSatisfied=False CommitMajorityInOneDomain" in lines
    assert resource["status"]["phase"] == "Ready"
    assert [each.get("zone") for each in resource["status"]["nodes"]] == ["east", "east", "west", None, None]


def test_a_lost_voter_is_told_with_what_is_done_about_it() -> None:
    world = World()
    world.settle()
    world.delete_claim(1)
    for _ in range(4):
        world.kubelet()
        world.reconcile()
    text = screen(seen(world))
    assert "2 of 3 voters live, none may be lost" in text
    assert "RemoveVoter voter 1" in text
    assert "QuorumRedundant=False VoterDown" in text
    assert "StorageHealthy=False ReplacingVoter" in text


def test_a_resource_that_nobody_looked_at_says_so() -> None:
    assert screen(resource()) == "n/c  not looked at yet  (the operator has seen generation -1 of 1)"


class Api:
    def __init__(self) -> None:
        self.patches: list[dict[str, Any]] = []

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        if name != "c":
            raise NotFound(404, name)
        return resource()

    def patch(self, kind: Kind, namespace: str, name: str, body: dict[str, Any]) -> None:
        self.patches.append(body)


def asked(*words: str) -> tuple[int, list[str], list[dict[str, Any]]]:
    api, told = Api(), list[str]()
    any_api: Any = api
    return run(parser().parse_args(words), any_api, told.append), told, api.patches


def test_a_restart_and_a_rest_are_asked_of_exactly_this_resource(capsys: pytest.CaptureFixture[str]) -> None:
    code, told, patches = asked("restart", "c", "-n", "n")
    assert code == 0
    assert "one at a time" in told[0]
    assert patches[0]["metadata"]["uid"] == "cluster-uid"
    assert "kraft.quorate.dev/restart" in patches[0]["metadata"]["annotations"]
    assert asked("hibernate", "c")[2][0]["spec"] == {"lifecycle": {"state": "Hibernated"}}
    assert asked("wake", "c")[2][0]["spec"] == {"lifecycle": {"state": "Running"}}
    assert asked("status", "other")[0] == 1
    assert "no KRaftCluster other" in capsys.readouterr().err
