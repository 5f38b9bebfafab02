"""spec.archive.objectStore on a real Kubernetes, with an S3 server that is not ours, behind TLS of an authority of its
own: the operator's archive keeps a copy there, encrypted, and the Job that the documentation gives makes an archive of
it, byte for byte. No secret is told anywhere. Then every disk is deleted, the archive's too: the quorum is made of what
the archive's pod fills its new disk with. Then the cluster and every claim of it is deleted, and another one is formed
from what the Job has made.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kraft_operator.kube import CLAIM, POD, SECRET, VOLUME
from kraft_operator.plugin.main import parser, run
from support.clients.topic_client import topics
from support.kubernetes.archive_drills import (
    archived,
    ask,
    brokers_are_given_up,
    everything_is_deleted,
    operation,
    page,
)
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.object_store import ObjectStore, object_store
from support.kubernetes.operator_process import Images, Object, OperatorProcess, Story, eventually, operator, pool
from support.pipeline.archives import log_bytes

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

KEY = base64.b64encode(b"canary of the archive's sealing!").decode()
SECRETS = {
    "backups": {"AWS_ACCESS_KEY_ID": "copier", "AWS_SECRET_ACCESS_KEY": "canary-of-the-store"},
    "archive-keys": {"2026-11": KEY},
}
LOG = "__cluster_metadata-0"
CONTROLLERS: Object = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "256Mi"}}
TOPICS = {"one", "another"}


@dataclass(frozen=True, slots=True)
class Fetched:
    story: Story
    running: OperatorProcess
    asked: Object
    """spec.archive.objectStore."""
    end: int
    """Where the archive was when it had all topics."""
    told: str
    """What the Job said."""


@pytest.fixture(scope="module")
def fetched(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fetched]:
    """A cluster whose archive has a copy in a store, and the claim that the documentation's Job has made of it."""
    if kubernetes.context is not None:
        pytest.skip("the store is in the network of the single-machine Kubernetes")
    folder = tmp_path_factory.mktemp("operator")
    with (
        object_store(folder) as store,
        kubernetes.namespace("op-copies") as namespace,
        operator(namespace, folder, images, port=19695) as running,
    ):
        story = Story(kubernetes, namespace, images("runtime"))
        asked = archive_with_a_copy(story, store)
        for name in TOPICS:
            story.kafka("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", f"{story.name}-bootstrap:9092",
                        "--create", "--topic", name, "--replica-assignment", "100")  # fmt: skip
        end = archived(story)
        eventually("a copy of it", lambda: page(story)["store"]["end"] >= end)
        kubernetes.kubectl("-n", namespace, "apply", "-f", "-", stdin=job(asked, images("operator")))
        eventually("the Job of the documentation", lambda: succeeded(story))
        told = kubernetes.kubectl("-n", namespace, "logs", "job/fetch-archive")
        yield Fetched(story, running, asked, end, told)


def archive_with_a_copy(story: Story, store: ObjectStore) -> Object:
    for name, data in (*SECRETS.items(), ("minio-ca", {"ca.crt": store.trusted})):
        story.kubernetes.gateway.create(SECRET, story.namespace, {"metadata": {"name": name}, "stringData": data})
    asked = {
        "url": f"s3://{store.bucket}/kafka/{story.namespace}", "region": "eu-central-1", "endpoint": store.endpoint,
        "credentialsSecret": "backups", "encryptionSecret": "archive-keys", "caSecret": "minio-ca",
    }  # fmt: skip
    policy = {"debounce": "2s"}
    story.apply(controllers=CONTROLLERS, brokerPools=[pool(1)], archive=archive(asked), recoveryPolicy=policy)
    story.await_ready()
    return asked


def archive(asked: Object) -> Object:
    return {"storage": {"size": "256Mi", "storageClassName": "standard"}, "objectStore": asked}


def job(asked: Object, image: str) -> str:
    """The documentation's, with this cluster's names in it."""
    documents = list(yaml.safe_load_all((ROOT / "deploy" / "archive" / "fetch.yaml").read_text()))
    claim, made = documents
    claim["spec"]["storageClassName"] = "standard"
    claim["spec"]["resources"]["requests"]["storage"] = "256Mi"
    (container,) = made["spec"]["template"]["spec"]["containers"]
    container["image"] = image
    container["command"][2] = asked["url"]
    wanted = {"AWS_REGION": asked["region"], "AWS_ENDPOINT_URL": asked["endpoint"]}
    for each in container["env"]:
        each["value"] = wanted.get(each["name"], each["value"])
    return yaml.safe_dump_all(documents)


def succeeded(story: Story) -> bool:
    text = story.kubernetes.kubectl("-n", story.namespace, "get", "job", "fetch-archive", "-o", "json")
    status = json.loads(text).get("status") or {}
    assert not status.get("failed"), text
    return bool(status.get("succeeded") == 1)


def plugin(story: Story, *words: str) -> str:
    said: list[str] = []
    given = parser().parse_args(["archive", story.name, "-n", story.namespace, *words])
    assert run(given, story.kubernetes.gateway, said.append) == 0
    return "\n".join(said)


def disk(story: Story, claim: str) -> Path:
    found = story.kubernetes.gateway.get(CLAIM, story.namespace, claim)
    return Path(story.kubernetes.gateway.get(VOLUME, None, found["spec"]["volumeName"])["spec"]["local"]["path"])


def claims(story: Story) -> set[str]:
    return {each["metadata"]["name"] for each in story.kubernetes.gateway.list(CLAIM, story.namespace)}


def test_the_operators_archive_is_copied_into_a_store_and_fetched_from_it_byte_for_byte(
    fetched: Fetched, sampled: Callable[[str], None]
) -> None:
    story, asked = fetched.story, fetched.asked
    copy = eventually(
        "a status with what is proven",
        lambda: (
            (found := story.resource()["status"]["archive"]["objectStore"]).get("verified", {}).get("end", 0) > 0
            and found
        ),
    )
    assert (copy["standing"], copy["encrypted"]) == ("Shipping", True)
    assert "message" not in copy
    story.await_condition("ArchiveCopyCurrent", "True", "Shipping")
    seen = page(story)["store"]
    assert (seen["encrypted"], seen["keys"]) == (True, ["2026-11"])
    assert f"store    Shipping: {asked['url']}, up to offset " in plugin(story)

    made = log_bytes(disk(story, "fetched") / "log" / LOG)
    kept = log_bytes(disk(story, f"archive-{story.name}-archive-0") / "log" / LOG)
    assert made
    assert kept.startswith(made), "byte for byte, up to where the copy was"
    end = int(fetched.told.split("offsets 0 to ")[1].split()[0])
    assert end >= fetched.end
    assert f"offsets 0 to {end} of cluster {story.ledger()['clusterID']}" in fetched.told

    pod = story.kubernetes.gateway.get(POD, story.namespace, f"{story.name}-archive-0")
    said = "".join(
        (
            json.dumps(pod), json.dumps(story.resource()), plugin(story, "-o", "json"), fetched.running.log.read_text(),
            fetched.told, story.kubernetes.kubectl("-n", story.namespace, "logs", f"{story.name}-archive-0"),
        )
    )  # fmt: skip
    assert [each for each in (KEY, "canary-of-the-store") if each in said] == []
    sampled(f"proven up to {copy['verified']['end']}, fetched up to {end}: {len(made)} bytes")


def test_a_quorum_is_made_of_the_copy_when_every_disk_is_deleted_and_the_archives_too(
    fetched: Fetched, sampled: Callable[[str], None]
) -> None:
    story = fetched.story
    old, follower = story.directories(), f"{story.name}-archive-0"
    end = archived(story)
    story.apply(archive=None)  # what it has is put before it ends
    eventually("the archive is away", lambda: follower not in story.pods())
    story.delete_claim(f"archive-{follower}")
    everything_is_deleted(story)
    eventually("its claim is gone", lambda: f"archive-{follower}" not in claims(story))
    story.apply(archive=archive(fetched.asked))
    filled = eventually("a new disk with the copy", lambda: (seen := page(story)).get("end", 0) >= end and seen)
    assert (filled["start"], filled["asides"]) == (0, 0)
    story.await_condition("ManualInterventionRequired", "True", "QuorumLost", 240)

    ask(story)
    verdict = operation(story)["status"]["verdict"]
    (copy,) = verdict["copies"]
    assert (verdict["seed"], copy["nodeID"], copy["end"]) == (-1, -1, filled["end"]), verdict
    assert "Succeeded: generation" in ask(story, verdict["hash"])
    election = ("/opt/kafka/bin/kafka-leader-election.sh", "--bootstrap-server", f"{story.name}-bootstrap:9092",
                "--election-type", "unclean", "--all-topic-partitions")  # fmt: skip
    brokers_are_given_up(story, old, lambda: story.kafka(*election))
    assert topics(story) == TOPICS
    assert not set(story.directories().values()) & set(old.values())
    anew = eventually(
        "the copy begins anew", lambda: (seen := page(story).get("store") or {}).get("asides") == 1 and seen
    )
    sampled(f"a quorum of the copy, up to {copy['end']}: {verdict['verdict']}; it begins anew, {anew['standing']}")


def test_a_cluster_is_formed_from_what_was_fetched_when_everything_else_is_deleted(
    fetched: Fetched, sampled: Callable[[str], None]
) -> None:
    story = fetched.story
    old: Any = story.ledger()
    story.delete()
    eventually("every pod goes", lambda: not story.pods())
    for claim in claims(story) - {"fetched"}:
        story.delete_claim(claim)
    eventually("every claim but one goes", lambda: claims(story) == {"fetched"})

    new = replace(story, name="again", spec={})
    new.apply(
        controllers=CONTROLLERS,
        brokerPools=[pool(1)],
        bootstrap={"fromArchive": {"claimName": "fetched", "clusterID": old["clusterID"]}},
    )
    new.await_ready()
    taken = new.resource()["status"]["fromArchive"]
    assert taken["end"] == taken["archiveEnd"] >= fetched.end
    assert topics(new) == TOPICS
    assert {state for _, state in new.voters().values()} == {"Live"}
    sampled(f"a cluster of the copy, up to {taken['end']}, when every claim of the old one was gone")
