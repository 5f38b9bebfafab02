"""`kubectl kraft plan|approve|logs` over statuses that the real planner writes: what is shown, what is refused, and
what is patched.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kraft_operator.kube import CLUSTER, Forbidden, Kind, NotFound
from kraft_operator.plugin.main import parser, run
from kraft_operator.status import status
from support.operator_model.world import World, resource

pytestmark = pytest.mark.unit


class Api:
    """One resource, some pods with logs."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.patches: list[dict[str, Any]] = []
        self.logs = {
            "c-controller-0-0": "2026-11-21T10:00:01Z leads\n2026-11-21T10:00:03Z commits\n",
            "op-0": "2026-11-21T10:00:02Z n/c: AddVoter voter 3\n2026-11-21T10:00:02Z n/other: nothing\n",
        }
        self.operators_are_secret = False

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        if name != "c":
            raise NotFound(404, name)
        assert kind is CLUSTER
        return self.found

    def patch(self, kind: Kind, namespace: str, name: str, body: dict[str, Any]) -> None:
        self.patches.append(body)

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[dict[str, Any], ...]:
        if namespace is None and self.operators_are_secret:
            raise Forbidden(403, "pods is forbidden")
        names = {"c-controller-0-0": "controller", "c-b-100-0": "broker"} if namespace else {"op-0": ""}
        return tuple(
            {
                "metadata": {"name": name, "namespace": namespace or "ops", "labels": {"kraft.quorate.dev/role": role}},
                "spec": {"containers": [{"name": "main"}]},
            }
            for name, role in names.items()
        )

    def log(self, namespace: str, pod: str, container: str, tail: int) -> str:
        if pod not in self.logs:
            raise NotFound(404, f"no log of {pod}")
        return self.logs[pod]


def waiting(**changes: object) -> Api:
    """A cluster in mode Plan whose edit waits."""
    world = World(changePolicy={"mode": "Plan"})
    world.plan()
    world.approve()
    world.settle()
    world.edit(changePolicy={"mode": "Plan"}, **changes)
    written = status(world.cluster, world.observed(), world.plan(), {}, "2026-11-21T00:00:00Z")
    found = resource(changePolicy={"mode": "Plan"}, **changes)
    found["metadata"]["generation"] = world.cluster.generation  # type: ignore[index]
    return Api({**found, "status": written})


SHRINK = {"controllers": {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}}


def asked(api: Api, *words: str) -> tuple[int, str]:
    told: list[str] = []
    any_api: Any = api
    code = run(parser().parse_args(words), any_api, told.append)
    return code, "\n".join(told)


def test_a_plan_shows_every_step_with_what_it_needs_and_risks() -> None:
    code, text = asked(waiting(**SHRINK), "plan", "c", "-n", "n")
    lines = text.splitlines()
    assert code == 0
    assert "waits for approval" in lines[0]
    removed = [line.split()[3] for line in lines if "RemoveVoter" in line]
    assert removed == ["2", "1"]
    assert sum("(risk: Availability)" in line for line in lines) == 4
    assert any("a majority is live (L3)" in line for line in lines)
    assert lines[0].endswith("risk: Availability")
    assert [line for line in lines if line.startswith("  warning: ") and "no voter may be lost" in line] == lines[1:2]


def test_a_plan_as_json_is_the_statuss_own() -> None:
    api = waiting(**SHRINK)
    assert json.loads(asked(api, "plan", "c", "-o", "json")[1]) == api.found["status"]["plan"]


def test_without_steps_there_is_nothing_to_do_and_nothing_to_approve(capsys: pytest.CaptureFixture[str]) -> None:
    api = waiting()
    assert asked(api, "plan", "c")[1] == "there is nothing to do"
    assert asked(api, "approve", "c", "--yes")[0] == 1
    assert "nothing to approve" in capsys.readouterr().err


def test_an_approval_shows_the_plan_and_names_its_hash_on_exactly_this_resource() -> None:
    api = waiting(**SHRINK)
    name = api.found["status"]["plan"]["hash"]
    code, text = asked(api, "approve", "c", "--hash", name)
    assert code == 0
    assert "RemoveVoter voter 2" in text
    assert api.patches == [{"metadata": {"annotations": {"kraft.quorate.dev/approve": name}, "uid": "cluster-uid"}}]


def test_a_stale_hash_an_unseen_edit_and_nobody_to_ask_approve_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    api = waiting(**SHRINK)
    assert asked(api, "approve", "c", "--hash", "123456-12345678")[0] == 1
    assert "is stale" in capsys.readouterr().err
    assert asked(api, "approve", "c")[0] == 1
    assert "there is no terminal to ask on" in capsys.readouterr().err
    api.found["metadata"]["generation"] += 1
    assert asked(api, "approve", "c", "--yes")[0] == 1
    assert "its plan is still to come" in capsys.readouterr().err
    assert api.patches == []


def test_logs_are_one_stream_by_time_with_the_operators_lines_about_this_cluster() -> None:
    _, text = asked(waiting(), "logs", "c", "-n", "n")
    assert text.splitlines() == [
        "2026-11-21T10:00:01Z c-controller-0-0  leads",
        "2026-11-21T10:00:02Z op-0  n/c: AddVoter voter 3",
        "2026-11-21T10:00:03Z c-controller-0-0  commits",
    ]


def test_what_may_not_be_read_is_named_and_the_rest_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    api = waiting()
    api.operators_are_secret = True
    code, text = asked(api, "logs", "c", "-n", "n", "--brokers", "-o", "json")
    assert code == 0
    assert [json.loads(line)["line"] for line in text.splitlines()] == ["leads", "commits"]
    told = capsys.readouterr().err
    assert "c-b-100-0: no log of c-b-100-0" in told
    assert "operator's pods cannot be listed" in told


def test_a_cluster_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("plan", "approve", "logs"):
        assert asked(waiting(), command, "other")[0] == 1
        assert "no KRaftCluster other" in capsys.readouterr().err


@pytest.fixture
def three_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time does not pass, and after the third look somebody interrupts."""
    left = iter(range(2))

    def interrupted(_seconds: float) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)


@pytest.mark.usefixtures("three_looks")
def test_watching_a_plan_shows_it_again_until_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    api: Any = waiting(**SHRINK)
    with pytest.raises(KeyboardInterrupt):
        run(parser().parse_args(["plan", "c", "-w"]), api, told.append)
    assert len(told) == 3
    assert told[0] == told[2]
    assert told[0].startswith("\x1b[H")
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("three_looks")
def test_watching_logs_tells_each_line_once() -> None:
    told: list[str] = []
    api: Any = waiting()

    def tell(line: str) -> None:
        told.append(line)
        grow(api)

    with pytest.raises(KeyboardInterrupt):
        run(parser().parse_args(["logs", "c", "-n", "n", "-w"]), api, tell)
    assert [line.split("  ")[1] for line in told] == ["leads", "n/c: AddVoter voter 3", "commits", "resigns"]


def grow(api: Api) -> None:
    """A line more, behind those that were read already."""
    if "resigns" not in api.logs["c-controller-0-0"]:
        api.logs["c-controller-0-0"] += "2026-11-21T10:00:09Z resigns\n"
