"""Drills with an archive on a real Kubernetes, told on one cluster in order: a second cluster is formed from it as it
was at an earlier moment, while the first lives on; then every disk of the first is deleted, controllers' and brokers',
and its quorum is made of what the archive had kept until somebody switched it off.

`make test` has turns for the story with one controller; `make soak` tells it with three, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.clients.topic_client import topic_client, topics
from support.kubernetes.archive_drills import (
    archived,
    ask,
    brokers_are_given_up,
    everything_is_deleted,
    operation,
    page,
)
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Object, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

ARCHIVE: Object = {"storage": {"size": "256Mi", "storageClassName": "standard"}}
TOPICS = "/opt/kafka/bin/kafka-topics.sh"
ELECTION = "/opt/kafka/bin/kafka-leader-election.sh"


@pytest.fixture(scope="module", params=[1, 3], ids=["one-controller", "three-controllers"])
def story(
    kubernetes: Kubernetes,
    resource_definition: None,
    images: Images,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("operator")
    group = {"replicas": request.param, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "256Mi"}}
    with kubernetes.namespace("op-drill") as namespace, operator(namespace, folder, images, port=19685):
        found = Story(kubernetes, namespace, images("runtime"))
        found.apply(
            controllers=group,
            brokerPools=[pool(2 if request.param > 1 else 1)],
            archive=ARCHIVE,
            recoveryPolicy={"debounce": "2s"},
        )
        found.await_ready()
        yield found


def tool(story: Story, *command: str) -> None:
    story.kafka(TOPICS, "--bootstrap-server", f"{story.name}-bootstrap:9092", *command)


def create(story: Story, *wanted: str) -> None:
    for name in wanted:
        tool(story, "--create", "--topic", name, "--replica-assignment", "100")


def test_a_new_cluster_is_formed_as_the_old_one_was_at_an_earlier_moment(
    story: Story, sampled: Callable[[str], None]
) -> None:
    create(story, "kept", "gone")
    until = archived(story)
    if len(story.voters()) == 1:
        point: Object = {"offset": until - 1}
    else:
        time.sleep(2)  # between the two moments lies more than what clocks are read in
        point = {"time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
        time.sleep(2)
    create(story, "late")
    tool(story, "--delete", "--topic", "gone")
    behind = archived(story)

    old = story.resource()["status"]["clusterID"]
    asked = {"claimName": f"archive-{story.name}-archive-0", "clusterID": old, **point}
    new = replace(story, name="drill", spec={})
    new.apply(
        controllers=story.spec["controllers"], brokerPools=story.spec["brokerPools"], bootstrap={"fromArchive": asked}
    )
    new.await_ready()
    told = new.resource()["status"]["fromArchive"]
    assert until <= told["end"] < behind <= told["archiveEnd"]
    assert "offset" not in point or told["end"] == until
    assert (told["topicsNotTaken"], told["topicsBack"], told["moreTopics"]) == (["late"], ["gone"], 0)
    assert f"offsets {told['end']} to {told['archiveEnd'] - 1} of the archive" in told["notTaken"]
    assert topics(new) == {"kept", "gone"}
    assert new.resource()["status"]["clusterID"] != old
    assert {state for _, state in new.voters().values()} == {"Live"}
    create(new, "after")
    assert topics(new) == {"kept", "gone", "after"}
    assert topics(story) == {"kept", "late"}, "the first lives on"
    sampled(f"a cluster of an archive up to {told['end']} of {told['archiveEnd']} by {next(iter(point))}")
    new.delete()
    eventually("the drill's pods go", lambda: not new.pods())
    tool(story, "--delete", "--topic", "kept")
    tool(story, "--delete", "--topic", "late")


def test_a_quorum_is_made_of_the_archive_when_every_disk_of_controllers_and_brokers_is_deleted(
    story: Story, sampled: Callable[[str], None], tmp_path: Path
) -> None:
    old = story.directories()
    with topic_client(story, "t", tmp_path) as acknowledged:
        sure = set(acknowledged)
        archived(story)
        follower = f"{story.name}-archive-0"
        story.apply(archive=None)
        eventually("the archive is away", lambda: follower not in story.pods())
        before = len(acknowledged)
        eventually("the client goes on", lambda: len(acknowledged) > before + 3)
        everything_is_deleted(story)
    lost = list(acknowledged[before + 1 :])
    story.apply(archive=ARCHIVE)
    story.await_condition("ManualInterventionRequired", "True", "QuorumLost", 240)

    ask(story)
    verdict = operation(story)["status"]["verdict"]
    (copy,) = verdict["copies"]
    assert (verdict["seed"], copy["nodeID"], copy["end"]) == (-1, -1, copy["known"])
    assert verdict["verdict"] == "KnownLoss", verdict
    assert verdict["lostFrom"] == copy["end"] < verdict["lostTo"]
    assert f"offsets {copy['end']} to {verdict['lostTo'] - 1} are known to be committed" in verdict["text"]
    assert "Succeeded: generation" in ask(story, verdict["hash"])
    election = (ELECTION, "--bootstrap-server", f"{story.name}-bootstrap:9092", "--election-type", "unclean")
    brokers_are_given_up(story, old, lambda: story.kafka(*election, "--all-topic-partitions"))

    found = topics(story)
    assert sure <= found, "acknowledged before the archive's end"
    assert found == {f"t-{number}" for number in range(len(found))}, "the history up to one moment, without a gap"
    assert found.isdisjoint(lost), "what was acknowledged behind the archive's end, which the verdict named as lost"
    now = story.directories()
    assert not set(now.values()) & set(old.values())
    assert set(now) == set(old)
    assert {state for _, state in story.voters().values()} == {"Live"}
    create(story, "after")
    again = eventually("the archive begins anew", lambda: (seen := page(story)).get("asides") == 1 and seen)
    archived(story)
    sampled(
        f"every disk of {len(now)} nodes deleted: {len(found)} topics are back, {len(lost)} behind the archive's end "
        f"({copy['end']}; it begins anew at {again['start']}) are not; {verdict['verdict']}"
    )
