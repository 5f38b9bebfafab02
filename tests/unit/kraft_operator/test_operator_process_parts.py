"""Settings, failpoints, health and metrics: the parts of the process that need no cluster."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.error
import urllib.request
from dataclasses import replace

import pytest

from kraft_operator.__main__ import _draw, settings_from
from kraft_operator.health_server import STALE_AFTER, HealthServer, Heartbeats
from kraft_operator.kube import Conflict, Forbidden, Invalid, KubeError, NotFound, TooManyRequests, _refusal
from kraft_operator.metrics import Metrics
from kraft_operator.settings import BadSetting, Failpoints, LeaseTimes

pytestmark = pytest.mark.unit


def test_a_pod_is_told_by_its_environment_and_a_person_by_the_command_line() -> None:
    found = settings_from(
        [], {"POD_NAME": "op-1", "POD_NAMESPACE": "ops", "WATCH_NAMESPACES": "a,b", "OPERATOR_IMAGE": "i:1"}
    )
    assert found.identity.startswith("op-1_")
    assert (found.lease_namespace, found.namespaces, found.operator_image) == ("ops", ("a", "b"), "i:1")
    found = settings_from(["--namespace", "c", "--lease-seconds", "30", "20", "3"], {"WATCH_NAMESPACES": "a"})
    assert (found.namespaces, found.lease) == (("c",), LeaseTimes(30, 20, 3))


def test_two_processes_of_one_pod_name_are_two_holders() -> None:
    first, second = (settings_from([], {"POD_NAME": "op-1"}).identity for _ in range(2))
    assert first != second


@pytest.mark.parametrize("text", ["x", "x=pause", "=", "a=stop,b"])
def test_a_failpoint_that_is_not_understood_is_named(text: str) -> None:
    with pytest.raises(BadSetting, match="failpoint"):
        Failpoints.parse(text)


@pytest.mark.parametrize("times", ["10 10 2", "10 2 8", "15 10 0", "4 3 1", "9 6 1"])
def test_a_lease_that_leaves_no_time_for_a_call_is_named(times: str) -> None:
    with pytest.raises(BadSetting, match=rf"lease seconds {times}: .* has to be longer"):
        settings_from(["--lease-seconds", *times.split()], {})


def test_without_failpoints_nothing_happens_at_a_failpoint() -> None:
    Failpoints.parse("").hit("after_journal.grant")
    Failpoints.parse("elsewhere=exit").hit("after_journal.grant")


def test_drawn_ids_are_kafkas_uuids_that_no_tool_takes_for_an_option() -> None:
    drawn = {_draw() for _ in range(300)}
    assert len(drawn) == 300
    assert not [each for each in drawn if each.startswith("-") or len(each) != 22]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_liveness_fails_when_a_part_stops_beating_and_readiness_follows_the_start() -> None:
    clock, ready = Clock(), [False]
    heartbeats, metrics = Heartbeats(clock), Metrics()
    heartbeats.beat("resync")
    metrics.add("kraft_operator_reconcile_total", result='a "b"')
    server = HealthServer(0, heartbeats, metrics, lambda: ready[0])
    server.start()

    def get(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    try:
        assert get("/livez")[0] == 200
        assert get("/readyz")[0] == 503
        ready[0], clock.now = True, STALE_AFTER + 1
        assert get("/livez") == (500, "no sign of life: resync\n")
        assert get("/readyz")[0] == 200
        assert 'kraft_operator_reconcile_total{result="a \\"b\\""} 1' in get("/metrics")[1]
        assert get("/elsewhere")[0] == 404
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as stuck:
            stuck.sendall(b"GET /metrics HTTP/1.1\r\nHost")
            assert get("/readyz")[0] == 200  # Who never ends a request keeps nobody waiting.
    finally:
        server.stop()


async def test_a_loop_that_turns_beats_and_one_that_does_not_is_noticed() -> None:
    """Only an event of a KRaftCluster was a sign of life: an idle operator was started anew every three minutes."""
    clock = Clock()
    heartbeats = Heartbeats(clock)
    beating = asyncio.create_task(heartbeats.keep_beating("watch"))
    await asyncio.sleep(0)
    clock.now = STALE_AFTER
    assert heartbeats.stale() == []
    clock.now += 1
    assert heartbeats.stale() == ["watch"]
    beating.cancel()


def test_a_pass_that_does_not_end_is_noticed_and_an_idle_worker_is_not() -> None:
    clock = Clock()
    heartbeats = Heartbeats(clock)
    with heartbeats.working("worker-0"):
        clock.now = STALE_AFTER + 1
        assert heartbeats.stale() == ["worker-0"]
    assert heartbeats.stale() == []


def test_series_of_a_cluster_that_is_gone_are_forgotten() -> None:
    metrics = Metrics()
    metrics.set("kraft_operator_quorum_leader", 1, namespace="n", name="a")
    metrics.set("kraft_operator_quorum_leader", 2, namespace="n", name="b")
    metrics.forget(namespace="n", name="a")
    assert 'name="a"' not in metrics.render()
    assert metrics.total("kraft_operator_quorum_leader") == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, NotFound),
        (409, Conflict),
        (422, Invalid),
        (400, Invalid),
        (403, Forbidden),
        (429, TooManyRequests),
        (503, KubeError),
    ],
)
def test_every_refusal_of_the_api_server_has_its_type_and_words(status: int, kind: type[KubeError]) -> None:
    body = json.dumps({"message": "why", "reason": "Because"}).encode()
    error = _refusal(status, body, "7")
    assert type(error) is kind
    assert "why" in str(error)
    assert _refusal(status, b"<html>not json", None).status == status


def test_the_server_names_how_long_to_wait() -> None:
    error = _refusal(429, b"{}", "7")
    assert isinstance(error, TooManyRequests)
    assert error.retry_after == 7


def test_the_lease_is_given_up_before_anyone_may_take_it() -> None:
    times = LeaseTimes()
    assert times.retry_period < times.renew_deadline < times.duration
    assert replace(times) == LeaseTimes(15.0, 10.0, 2.0)
