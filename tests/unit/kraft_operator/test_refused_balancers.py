"""What a cloud does not take of a listener's annotations: told in its words, while every broker runs on as it is."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.balancers_seen import OF_SERVICES, SECONDS, BalancerMemory, refused
from kraft_operator.kube import EVENT, Forbidden, Kind, KubeError, Object, Unreachable
from kraft_operator.routes_seen import RouteMemory
from support.operator_model.world import World, resource

pytestmark = pytest.mark.unit

PLAIN = {"name": "PLAINTEXT", "port": 9092}
OUTSIDE = {"name": "OUTSIDE", "port": 9094, "exposure": "LoadBalancer"}
SERVICE = {"metadata": {"name": "c-b-100-outside", "uid": "u1"}}
WHY = "Error syncing load balancer: failed to ensure load balancer: unknown scheme intranet"


def event(reason: str, second: int, uid: str = "u1", how: str = "deprecatedLastTimestamp") -> Object:
    time = f"2026-11-29T09:00:{second:02}Z"
    found = {"reason": reason, "note": WHY, "regarding": {"kind": "Service", "uid": uid}}
    return found | ({"series": {"lastObservedTime": time}} if how == "series" else {how: time})


@pytest.mark.parametrize("reason", ["SyncLoadBalancerFailed", "AllocationFailed", "FailedBuildModel"])
def test_what_the_provider_says_against_a_service_is_the_message(reason: str) -> None:
    assert refused([SERVICE], [event(reason, 1)]) == {"c-b-100-outside": WHY}


def test_the_last_word_counts_whatever_the_order_and_however_its_time_is_written() -> None:
    bad, good = event("SyncLoadBalancerFailed", 1), event("EnsuredLoadBalancer", 2, how="eventTime")
    again = {**event("SyncLoadBalancerFailed", 0), **event("SyncLoadBalancerFailed", 3, how="series")}
    assert refused([SERVICE], [good, bad]) == {}
    assert refused([SERVICE], [again, good, bad]) == {"c-b-100-outside": WHY}


def test_what_was_said_of_a_service_that_is_gone_or_of_something_else_does_not_count() -> None:
    assert refused([SERVICE], [event("SyncLoadBalancerFailed", 1, uid="of-before")]) == {}
    assert refused([SERVICE], [event("UpdatedLoadBalancer", 1), event("Killing", 2)]) == {}


class Api:
    def __init__(self, answer: KubeError | None = None) -> None:
        self.answer, self.asked = answer, list[tuple[str, str]]()

    def list(self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "") -> tuple[Object, ...]:
        assert kind is EVENT
        self.asked.append((str(namespace), fields))
        if self.answer is not None:
            raise self.answer
        return (event("SyncLoadBalancerFailed", 1),)


def look(memory: BalancerMemory, kube: Any, now: float, *listeners: object) -> dict[str, str]:
    cluster = parse_cluster(resource(endpoints={"broker": [PLAIN, *listeners]}))
    return memory.look(cluster, [SERVICE], kube, now)


def test_events_are_read_for_load_balancers_only_and_no_more_than_every_half_minute() -> None:
    kube, memory = Api(), BalancerMemory()
    assert look(memory, kube, 0.0) == {}
    assert kube.asked == []
    for now in (0.0, SECONDS - 1):
        assert look(memory, kube, now, OUTSIDE) == {"c-b-100-outside": WHY}
    namespace = parse_cluster(resource()).namespace
    assert kube.asked == [(namespace, OF_SERVICES)]
    look(memory, kube, SECONDS, OUTSIDE)
    assert len(kube.asked) == 2


def test_it_is_seen_with_the_ways_that_lead_outside() -> None:
    cluster, kube = parse_cluster(resource(endpoints={"broker": [PLAIN, OUTSIDE]})), Api()
    anything: Any = kube
    assert RouteMemory().look(cluster, [SERVICE], anything, 0.0).refused == {"c-b-100-outside": WHY}


def test_an_older_installation_without_the_right_is_told_nothing_and_goes_on() -> None:
    assert look(BalancerMemory(), Api(Forbidden(403, "events is forbidden")), 0.0, OUTSIDE) == {}
    with pytest.raises(Unreachable):
        look(BalancerMemory(), Api(Unreachable(0, "no answer")), 0.0, OUTSIDE)


def brokers(world: World) -> dict[int, str]:
    return {node: pod.uid for node, pod in world.pods.items() if node >= 100}


@pytest.mark.parametrize("served_before", [False, True])
def test_brokers_run_on_as_they_are_while_a_load_balancer_is_refused(*, served_before: bool) -> None:
    world = World()
    world.settle()
    if served_before:
        world.balance()
        world.edit(endpoints={"broker": [PLAIN, OUTSIDE]})
        world.settle(120)
    running = brokers(world)
    world.balancer_says["c-b-100-outside"] = WHY
    world.edit(endpoints={"broker": [PLAIN, {**OUTSIDE, "service": {"annotations": {"cloud/scheme": "intranet"}}}]})
    found = world.settle(40)
    told = {each.reason: each for each in found.findings}
    assert told["LoadBalancerRefused"].stalled
    assert told["LoadBalancerRefused"].message == (
        "correct the annotations, loadBalancerClass, source ranges or traffic policy of its listener "
        f"(spec.endpoints.broker), which the load balancer refuses for Service c-b-100-outside: {WHY}"
    )
    assert brokers(world) == running
    world.balancer_says.clear()
    world.balance()
    assert "LoadBalancerRefused" not in {each.reason for each in world.settle(120).findings}
    assert all(pod.runs for pod in world.pods.values())
