"""spec.archive on a real Kubernetes, of a secure cluster: told as one story in order. The follower has its own
certificate and ClusterAction alone, its network policy, and a claim that outlives everything else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kraft_operator.kube import CLAIM, POD, KubeError
from kraft_operator.plugin.main import parser, run
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

SECURE = {"tls": {"mode": "Required"}}
ARCHIVE = {"storage": {"size": "256Mi", "storageClassName": "standard"}}


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("operator")
    with kubernetes.namespace("op-archive") as namespace, operator(namespace, folder, images, port=19680):
        yield Story(kubernetes, namespace, images("runtime"))


def plugin(story: Story, *words: str) -> str:
    said: list[str] = []
    given = parser().parse_args(["archive", story.name, "-n", story.namespace, *words])
    assert run(given, story.kubernetes.gateway, said.append) == 0
    return "\n".join(said)


def page(story: Story) -> dict[str, Any]:
    return dict(json.loads(plugin(story, "-o", "json"))["page"] or {})


def follows(story: Story, beyond: int) -> dict[str, Any] | None:
    now = page(story)
    return now if now.get("standing") == "Following" and now["end"] > beyond and now["lag"] <= 10 else None


def test_a_secure_quorum_is_archived_and_the_claim_outlives_it(story: Story, sampled: Callable[[str], None]) -> None:
    controllers = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "256Mi"}}
    story.apply(controllers=controllers, brokerPools=[pool(1)], security=SECURE, archive=ARCHIVE)
    story.await_ready()
    first = eventually("an archive that follows", lambda: follows(story, 20))
    proven = eventually(
        "a status with what is proven",
        lambda: (found := story.resource()["status"]["archive"]).get("verified", {}).get("end", 0) > 0 and found,
    )
    assert (proven["standing"], proven["access"]) == ("Following", "Restricted")
    story.await_condition("ArchiveCurrent", "True", "Following")
    assert "archive  Following" in plugin(story)

    name = f"{story.name}-archive-0"
    story.delete_pod(name)
    again = eventually("it goes on where it was", lambda: follows(story, first["end"]))
    assert (again["start"], again["asides"]) == (0, 0)
    pod = story.kubernetes.gateway.get(POD, story.namespace, name)
    assert not [each for each in pod["spec"]["volumes"] if "projected" in each], "no token"

    sampled(f"archived up to {again['end']}, proven up to {proven['verified']['end']}")
    story.delete()

    def gone() -> bool:
        try:
            story.kubernetes.gateway.get(POD, story.namespace, name)
        except KubeError as error:
            return error.status == 404
        return False

    eventually("the follower goes with its cluster", gone)
    claim = story.kubernetes.gateway.get(CLAIM, story.namespace, f"archive-{name}")
    assert claim["status"]["phase"] == "Bound"
    assert not claim["metadata"].get("deletionTimestamp")
