"""What a listener says for its load balancers reaches the Services of a real Kubernetes, and what their provider
refuses is told while the broker runs on. The provider is played: it answers by Events and by addresses. Told in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import EVENT, SERVICE, Object
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, Story, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

ONE = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
PLAIN = {"name": "PLAINTEXT", "port": 9092}
BEGIN, OWN, BROKER = "n-bootstrap-outside", "n-b-100-outside", "n-b-100-0"
WHY = "Error syncing load balancer: failed to ensure load balancer: unknown scheme intranet"


def outside(scheme: str) -> dict[str, Any]:
    return {
        "name": "OUTSIDE",
        "port": 9094,
        "exposure": "LoadBalancer",
        "service": {
            "annotations": {"example.com/scheme": scheme, "example.com/name": "of-all"},
            "labels": {"team": "edge"},
            "loadBalancerClass": "example.com/played",
            "loadBalancerSourceRanges": ["10.0.0.0/8"],
            "externalTrafficPolicy": "Local",
        },
        "bootstrapService": {"annotations": {"example.com/name": "kafka"}},
        "brokers": [{"nodeID": 100, "annotations": {"example.com/name": "broker-100"}, "labels": {"broker": "first"}}],
    }


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    with kubernetes.namespace("net-fields") as namespace:
        found = Story(kubernetes, namespace, images("runtime"), "n")
        with operator(namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19564):
            found.apply(controllers=ONE, brokerPools=[pool(1)])
            found.await_ready()
            yield found


def service(story: Story, name: str) -> Object:
    return story.kubernetes.gateway.get(SERVICE, story.namespace, name)


def broker(story: Story) -> str:
    return str(story.pods()[BROKER]["metadata"]["uid"])


def says(story: Story, name: str, kind: str, reason: str, note: str) -> None:
    """The provider of load balancers, to a Service."""
    meta = service(story, name)["metadata"]
    regarding = {"apiVersion": "v1", "kind": "Service", "namespace": story.namespace, "name": name, "uid": meta["uid"]}
    body = {
        "metadata": {"generateName": f"{name}-"},
        "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": "service-controller",
        "reportingInstance": "played",
        "action": "Sync",
        "type": kind,
        "reason": reason,
        "note": note,
        "regarding": regarding,
    }
    story.kubernetes.gateway.create(EVENT, story.namespace, {"apiVersion": EVENT.api, "kind": EVENT.kind, **body})


def give_address(story: Story, name: str, address: str) -> None:
    status = {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
    path = SERVICE.path(story.namespace, name, "status")
    story.kubernetes.gateway._call("PATCH", path, {}, status, content="application/merge-patch+json")


def test_what_the_listener_says_is_on_every_service_and_the_brokers_own_wins(story: Story) -> None:
    before = broker(story)
    story.apply(endpoints={"broker": [PLAIN, outside("intranet")]})
    story.await_condition("MembershipSynced", "False", "AddressPending", 60)
    for name, called in ((BEGIN, "kafka"), (OWN, "broker-100")):
        found = service(story, name)
        marks = found["metadata"]["annotations"]
        assert (marks["example.com/scheme"], marks["example.com/name"]) == ("intranet", called)
        assert found["metadata"]["labels"]["team"] == "edge"
        assert found["metadata"]["labels"].get("broker") == ("first" if name == OWN else None)
        assert found["spec"]["type"] == "LoadBalancer"
        assert found["spec"]["loadBalancerClass"] == "example.com/played"
        assert found["spec"]["loadBalancerSourceRanges"] == ["10.0.0.0/8"]
        assert found["spec"]["externalTrafficPolicy"] == "Local"
    assert broker(story) == before


def test_what_the_provider_refuses_is_told_and_the_broker_runs_on(story: Story) -> None:
    before = broker(story)
    says(story, OWN, "Warning", "SyncLoadBalancerFailed", WHY)
    found = story.await_condition("MembershipSynced", "False", "LoadBalancerRefused", 120)
    assert found["message"].endswith(f"refuses for Service {OWN}: {WHY}")
    story.await_condition("Stalled", "True", "LoadBalancerRefused", 60)
    assert broker(story) == before


def test_it_is_over_once_the_resource_is_corrected_and_the_provider_agrees(story: Story) -> None:
    before = broker(story)
    story.apply(endpoints={"broker": [PLAIN, outside("internal")]})
    scheme = "example.com/scheme"
    eventually("the Service says so", lambda: service(story, OWN)["metadata"]["annotations"][scheme] == "internal", 60)
    assert broker(story) == before
    says(story, OWN, "Normal", "EnsuredLoadBalancer", "Ensured load balancer")
    give_address(story, BEGIN, "192.0.2.1")
    give_address(story, OWN, "192.0.2.2")
    eventually("the broker is told its address", lambda: broker(story) != before, 240)
    story.await_condition("MembershipSynced", "True", seconds=120)
    story.await_ready()


def test_another_annotation_changes_the_service_and_no_pod_even_if_it_is_refused(story: Story) -> None:
    before = broker(story)
    story.apply(endpoints={"broker": [PLAIN, outside("intranet")]})
    says(story, OWN, "Warning", "SyncLoadBalancerFailed", WHY)
    story.await_condition("MembershipSynced", "False", "LoadBalancerRefused", 180)
    ingress = service(story, OWN)["status"]["loadBalancer"]["ingress"]
    assert [each["ip"] for each in ingress] == ["192.0.2.2"]
    assert broker(story) == before
