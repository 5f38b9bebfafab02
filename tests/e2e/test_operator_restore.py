"""A cluster that was lost whole comes back out of a backup whose volumes are of two times, as docs/operations/backup.md
says: on a real Kubernetes, told in order.

What a tool for backups does is played here: of every claim its labels and annotations, of every volume a copy, the
ledger, the resource. Two controllers and the brokers are of an earlier time than the third controller, and were they
started as they are, the two older ones would be a majority without what only the third one knows.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kraft_operator.kube import CLAIM, CONFIG_MAP, OPERATION, VOLUME
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Object, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

TOPICS = "/opt/kafka/bin/kafka-topics.sh"
BOUND = ("pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/")
"""Annotations that speak of the old binding; a tool for backups drops them."""


@dataclass(slots=True)
class Backup:
    """Outside the cluster: copies of volumes by claim, the claims themselves, and the ledger."""

    story: Story
    folder: Path
    claims: dict[str, Object] = field(default_factory=dict)
    volumes: dict[str, Object] = field(default_factory=dict)
    ledger: Object = field(default_factory=dict)

    def take(self, *claims: str) -> None:
        """Copies of these volumes, as they are now."""
        for name in claims:
            claim = self.story.kubernetes.gateway.get(CLAIM, self.story.namespace, name)
            volume = self.story.kubernetes.gateway.get(VOLUME, None, claim["spec"]["volumeName"])
            self.claims[name], self.volumes[name] = claim, volume
            path = Path(volume["spec"]["local"]["path"])
            subprocess.run(["cp", "-a", str(path), str(self.folder / name)], check=True)

    def take_words(self) -> None:
        """The ledger, and what the claims say by now."""
        gateway, namespace = self.story.kubernetes.gateway, self.story.namespace
        self.ledger = gateway.get(CONFIG_MAP, namespace, f"{self.story.name}-ledger")
        self.claims = {name: gateway.get(CLAIM, namespace, name) for name in self.claims}

    def put_back(self) -> None:
        for name in self.claims:
            self._volume(name)
            self._claim(name)
        meta = {"name": self.ledger["metadata"]["name"], "labels": self.ledger["metadata"]["labels"]}
        self._create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": self.ledger["data"]})

    def _volume(self, name: str) -> None:
        old = self.volumes[name]["spec"]
        kept = ("capacity", "accessModes", "volumeMode", "storageClassName", "nodeAffinity")
        spec = {key: old[key] for key in kept if key in old} | {"persistentVolumeReclaimPolicy": "Retain"}
        spec["local"] = {"path": str(self.folder / name)}
        spec["claimRef"] = {"namespace": self.story.namespace, "name": name}
        meta = {"name": self._restored(name)}
        self._create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec})

    def _claim(self, name: str) -> None:
        old = self.claims[name]
        marks = {key: each for key, each in old["metadata"]["annotations"].items() if not key.startswith(BOUND)}
        meta = {"name": name, "labels": old["metadata"]["labels"], "annotations": marks}
        kept = ("accessModes", "resources", "storageClassName", "volumeMode")
        spec = {key: old["spec"][key] for key in kept if key in old["spec"]} | {"volumeName": self._restored(name)}
        self._create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})

    def _restored(self, name: str) -> str:
        return f"{self.story.namespace}-{name}"

    def _create(self, body: Object) -> None:
        self.story.kubernetes.kubectl("-n", self.story.namespace, "create", "-f", "-", stdin=json.dumps(body))

    def clear(self) -> None:
        for name in self.volumes:
            self.story.kubernetes.kubectl("delete", "pv", self._restored(name), "--ignore-not-found", "--wait=false")
        subprocess.run(["rm", "-rf", str(self.folder)], check=True)


@contextmanager
def backup(story: Story) -> Iterator[Backup]:
    """Beside the volumes of the cluster, where the kubelets may mount them."""
    folder = story.disk(0).parent / f"backup-{story.namespace}"
    folder.mkdir(mode=0o755)
    found = Backup(story, folder)
    try:
        yield found
    finally:
        found.clear()


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-restore") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("restore")), images, port=19680) as process:
        story.apply(brokerPools=[pool(2)])
        story.await_ready()
        yield process


def topics(story: Story, *command: str) -> str:
    where = ("-n", story.namespace, "exec", f"{story.name}-b-100-0", "-c", "kafka", "--")
    return story.kubernetes.kubectl(*where, TOPICS, "--bootstrap-server", f"{story.name}-bootstrap:9092", *command)


def create(story: Story, *names: str) -> None:
    for name in names:
        topics(story, "--create", "--topic", name, "--replica-assignment", "100")


def everything_is_lost(story: Story) -> None:
    story.delete()
    eventually("no pod is left", lambda: not story.pods(), 180)
    story.kubernetes.kubectl("-n", story.namespace, "delete", "pvc", "--all", "--timeout=120s")
    story.kubernetes.kubectl("-n", story.namespace, "delete", "configmap", f"{story.name}-ledger")


def status(story: Story) -> Object:
    found: Object = story.kubernetes.gateway.get(OPERATION, story.namespace, "restore")
    return dict(found.get("status") or {})


def in_phase(story: Story, phase: str) -> Object:
    def there() -> Object:
        found = status(story)
        assert found.get("phase") == phase, found
        return found

    return eventually(f"the restore is {phase}", there, 300)


def approve(story: Story, name: str) -> None:
    mark = f"kraft.quorate.dev/approve={name}"
    story.kubernetes.kubectl("-n", story.namespace, "annotate", "kro", "restore", "--overwrite", mark)


def test_a_cluster_is_restored_from_copies_of_two_times_and_the_newest_is_the_seed(
    story: Story, running: OperatorProcess, sampled: Callable[[str], None]
) -> None:
    with backup(story) as saved:
        create(story, "early")
        saved.take(*(f"data-{story.name}-{each}-0" for each in ("controller-0", "controller-1", "b-100", "b-101")))
        create(story, "late-0", "late-1", "late-2")
        time.sleep(3)  # every live voter has fetched since
        saved.take(f"data-{story.name}-controller-2-0")
        saved.take_words()
        old = story.directories()
        everything_is_lost(story)

        saved.put_back()
        story.apply(bootstrap={"policy": "AdoptOnly"})
        told = story.await_condition("StorageHealthy", "False", "RestoredFromBackup")
        assert "type Restore" in told["message"]
        time.sleep(5)  # several looks of the operator
        assert not story.pods()
        assert story.directories() == old

        began = time.monotonic()
        body = {"clusterName": story.name, "type": "Restore"}
        meta = {"name": "restore", "namespace": story.namespace}
        story.kubernetes.gateway.create(
            OPERATION,
            story.namespace,
            {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": meta, "spec": body},
        )
        waiting = in_phase(story, "WaitingApproval")
        verdict = waiting["verdict"]
        ends = {each["nodeID"]: each["end"] for each in verdict["copies"]}
        assert set(ends) == {0, 1, 2, 100, 101}
        assert max(ends, key=lambda each: ends[each]) == 2, ends
        assert verdict["seed"] == 2
        assert "node 2's copy" in waiting["message"]
        assert verdict["hash"] in waiting["message"]

        approve(story, "0" * len(verdict["hash"]))
        time.sleep(5)
        assert status(story)["phase"] == "WaitingApproval"
        assert not [each for each in story.pods() if each.startswith(f"{story.name}-controller-")]

        approve(story, verdict["hash"])
        in_phase(story, "Succeeded")
        story.await_ready()
        sampled(f"a restore from copies of two times: {time.monotonic() - began:.0f} s; the log ended at {ends}")
        assert {"early", "late-0", "late-1", "late-2"} <= set(topics(story, "--list").split())
        assert {state for _, state in story.voters().values()} == {"Live"}
        now = story.directories()
        assert not {now[each] for each in (0, 1, 2)} & set(old.values())
        assert {each: now[each] for each in (100, 101)} == {each: old[each] for each in (100, 101)}
        create(story, "after")
        story.delete()  # before its volumes go
        eventually("no pod is left", lambda: not story.pods(), 180)
