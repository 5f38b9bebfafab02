"""`kubectl kraft status` as a first look: without a name, without an operator, with a lost quorum; each cause once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kraft_operator.kube import CLUSTER, LEASE, Forbidden, Kind, NotFound
from kraft_operator.plugin.heartbeat import silent_since
from kraft_operator.plugin.main import parser, run
from kraft_operator.plugin.view import screen
from kraft_operator.status import status
from support.operator_model.world import World, resource

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


def lease(age: float, name: str = "kraft-operator") -> dict[str, Any]:
    renewed = (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"metadata": {"name": name}, "spec": {"renewTime": renewed}}


class Api:
    """The clusters and Leases of an API server. `forbidden` kinds may be read in a namespace only."""

    def __init__(self, *clusters: tuple[str, str], leases: tuple[dict[str, Any], ...] = (), forbidden: bool = False):
        self.clusters, self.leases, self.forbidden = clusters, leases, forbidden

    def _resource(self, namespace: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = resource()
        return {**found, "metadata": {**found["metadata"], "namespace": namespace, "name": name}}

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        if (namespace, name) not in self.clusters:
            raise NotFound(404, name)
        return self._resource(namespace, name)

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[dict[str, Any], ...]:
        if self.forbidden and namespace is None:
            raise Forbidden(403, "not cluster-wide")
        if kind is LEASE:
            return self.leases
        assert kind is CLUSTER
        return tuple(self._resource(*each) for each in self.clusters if namespace in (None, each[0]))


def asked(api: Api, *words: str) -> tuple[int, list[str]]:
    told: list[str] = []
    any_api: Any = api
    return run(parser().parse_args(words), any_api, told.append), told


@pytest.mark.parametrize("command", ["status", "plan"])
def test_without_a_name_it_is_the_only_cluster_wherever_it_is(command: str) -> None:
    code, told = asked(Api(("kafka", "prod")), command)
    assert code == 0
    assert command == "plan" or "kafka/prod" in told[0]


def test_without_a_name_one_of_several_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    api = Api(("kafka", "prod"), ("kafka", "test"), ("other", "a"))
    assert asked(api, "status")[0] == 1
    assert "name one of: kafka/prod, kafka/test, other/a" in capsys.readouterr().err
    assert asked(api, "status", "-n", "other")[0] == 0
    assert asked(Api(), "status")[0] == 1
    assert "there is no KRaftCluster in any namespace" in capsys.readouterr().err
    assert asked(Api(("default", "c"), forbidden=True), "status")[0] == 0


def test_what_changes_something_is_never_done_to_a_cluster_that_nobody_named() -> None:
    for command in ("approve", "restart", "hibernate", "wake", "protect"):
        with pytest.raises(SystemExit):
            parser().parse_args([command])
    asked_nobody: Any = object()  # any question to it would be an error: recover has a form without a resource
    assert run(parser().parse_args(["recover"]), asked_nobody, print) == 1


def test_the_first_line_says_so_when_no_operator_has_answered_for_a_minute() -> None:
    old = lease(240)
    old["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    _, told = asked(Api(("n", "c"), leases=(old,)), "status", "c", "-n", "n")
    assert told[0].splitlines()[0].startswith("NO OPERATOR has answered for ")
    _, told = asked(Api(("n", "c"), leases=(old,)), "status", "c", "-n", "n", "-o", "json")
    assert told == ["{}"]
    _, told = asked(Api(("n", "c"), forbidden=True), "status", "c", "-n", "n")
    assert told[0].startswith("n/c"), "who may not read Leases is shown the rest"


@pytest.mark.parametrize(
    ("leases", "said"),
    [
        ((lease(59),), None),
        ((lease(3600), lease(3)), None),
        ((lease(61),), "NO OPERATOR has answered for 1 min"),
        ((lease(3 * 3600), lease(1, "another")), "NO OPERATOR has answered for 3 h"),
        ((lease(72 * 3600),), "NO OPERATOR has answered for 3 days"),
        ((lease(3600, "of-another-name"),), None),
        ((), None),
    ],
)
def test_silence_is_measured_by_the_newest_lease(leases: tuple[dict[str, Any], ...], said: str | None) -> None:
    found = silent_since(leases, NOW)
    assert found is None if said is None else found is not None and found.startswith(said)


def shown(world: World) -> list[str]:
    written = status(world.cluster, world.observed(), world.plan(), {}, "2026-11-21T00:00:00Z")
    return screen({**resource(), "status": written}).splitlines()


def test_a_lost_quorum_is_the_headline_and_its_cause_is_there_once() -> None:
    world = World()
    world.settle()
    world.wipe(1)
    world.wipe(2)
    world.settle()
    lines = shown(world)
    assert lines[0].startswith("n/c  Stalled: QuorumLost")
    assert sum("kubectl kraft recover" in line for line in lines) == 1
    assert "  QuorumAvailable=False QuorumLost, ManualInterventionRequired=True QuorumLost" in lines
    assert not [line for line in lines if "leader" in line and "no leader" not in line]


def test_a_disk_that_a_person_has_to_put_back_is_there_once() -> None:
    world = World()
    world.settle()
    world.place("t", 100)
    world.settle()
    world.wipe(100)
    world.settle()
    lines = shown(world)
    assert lines[0].startswith("n/c  Stalled: PlanPendingApproval")
    known = lines[lines.index("to know") :]
    assert sum("broker 100" in line and "put the volume back" in line for line in known) == 1
    assert not [line for line in lines if line.lstrip().startswith("Stalled=")]
