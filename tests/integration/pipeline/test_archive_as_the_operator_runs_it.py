"""The archive's container as the operator's manifest has it, run here: its arguments, its environment and what it
mounts, beside a living quorum and an S3 server behind TLS. Then the Job that the documentation gives. No secret is told
anywhere.
"""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kraft_operator.api.parse import parse_cluster
from kraft_operator.archives import StoreSeen, archive_seen
from kraft_operator.manifests.archive import archive_objects
from metadata_pipeline.archive.opening import DIRECTORY
from support.nodes.processes import CLUSTER_ID, ENVIRONMENT, REPOSITORY, Cluster, eventually
from support.object_store.s3_server import BUCKET, S3Server
from support.object_store.tls_front import TlsFront
from support.operator_model.world import IMAGES, resource
from support.pipeline.archives import Archive, log_bytes
from support.security.authority import Authority

pytestmark = pytest.mark.integration

KEY = base64.b64encode(b"canary of the archive's sealing!").decode()
SECRETS = {
    "backups": {"AWS_ACCESS_KEY_ID": "copier", "AWS_SECRET_ACCESS_KEY": "canary-of-the-store"},
    "archive-keys": {"2026-11": KEY},
}
URL = f"s3://{BUCKET}/kafka/demo"
PROGRAM = (sys.executable, "-m", "metadata_pipeline.archive.command")


@pytest.fixture
def front(tmp_path: Path) -> Iterator[TlsFront]:
    pem = Authority("store-ca").issue("store", ["127.0.0.1"]).write(tmp_path / "store")
    with S3Server() as server, TlsFront(pem, server.port) as running:
        yield running


def mounted(pod: Mapping[str, Any], root: Path) -> dict[str, str]:
    """Each mount of the pod's container to the directory that stands for it here, with what the Secrets have."""
    here = {**SECRETS, "minio-ca": {"ca.crt": Authority("store-ca").pem}}
    found: dict[str, str] = {}
    (container,) = pod["containers"]
    secrets = {each["name"]: each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
    for mount in container["volumeMounts"]:
        folder = root / mount["name"]
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in here.get(secrets.get(mount["name"], ""), {}).items():
            (folder / name).write_text(text)
        found[mount["mountPath"]] = str(folder)
    return found


def words(given: list[str], paths: Mapping[str, str]) -> list[str]:
    def one(word: str) -> str:
        mounts = (path for path in paths if word == path or word.startswith(f"{path}/"))
        return next((paths[path] + word.removeprefix(path) for path in mounts), word)

    return [one(each) for each in given]


def environment(container: Mapping[str, Any], paths: Mapping[str, str], endpoint: str) -> dict[str, str]:
    values = {each["name"]: each["value"] for each in container["env"]}
    found = dict(zip(values, words(list(values.values()), paths), strict=True))
    return {**ENVIRONMENT, **found, "AWS_ENDPOINT_URL": endpoint}


def test_what_the_manifest_says_makes_a_copy_and_what_the_job_says_makes_an_archive_of_it(
    front: TlsFront, tmp_path: Path
) -> None:
    endpoint = f"https://127.0.0.1:{front.port}"
    store = {
        "url": URL, "region": "eu-central-1", "endpoint": endpoint, "credentialsSecret": "backups",
        "encryptionSecret": "archive-keys", "caSecret": "minio-ca",
    }  # fmt: skip
    made = archive_objects(parse_cluster(resource(archive={"objectStore": store})), IMAGES, CLUSTER_ID, (0,), 1)
    (pod,) = (each["spec"]["template"]["spec"] for each in made if each["kind"] == "StatefulSet")
    (container,) = pod["containers"]
    paths = mounted(pod, tmp_path / "archive")
    keys = Path(paths["/etc/kafka/store-keys"]) / "2026-11"
    keys.unlink()  # as if somebody had forgotten to create the Secret
    with Cluster(tmp_path, controllers=1) as cluster:
        cluster.start()
        archive = Archive(Path(paths["/var/lib/kafka/archive"]) / "log", cluster.bootstrap_controllers)
        changed = {"--bootstrap-controller": cluster.bootstrap_controllers, "--listen": f"127.0.0.1:{archive.port}"}
        arguments = words(container["args"], paths)
        for name, value in changed.items():
            arguments[arguments.index(name) + 1] = value
        given = [f"{name}={value}" for name, value in environment(container, paths, endpoint).items()]
        archive.command = ["env", *given, *PROGRAM, *arguments, "--store-seconds", "0.3", "--poll-seconds", "0.2"]

        def copy() -> StoreSeen:
            seen = archive_seen(archive.page("/status"))
            assert seen is not None
            assert seen.store is not None
            return seen.store

        def enough() -> StoreSeen | None:
            now = copy()
            return now if now.end >= 12 else None

        with archive.running():
            waits = archive.reaches("StoreAway", -1)
            assert waits["why"].startswith("BadKeys: put a key into ")
            assert not front.came, "nothing is put unencrypted instead"
            keys.write_text(KEY)
            archive.reaches("Following", 12)
            shipped = eventually("a copy, by itself", enough)
            assert (shipped.standing, shipped.encrypted, shipped.keys) == ("Shipping", True, ("2026-11",))
            page = archive.page("/status") + archive.page("/metrics")
            assert archive.end() == 0
    assert b"Credential=copier/" in front.came
    assert b"metadata.version" not in front.came, "encrypted before it leaves"
    kept = log_bytes(Path(paths["/var/lib/kafka/archive"]) / "log" / DIRECTORY)

    _, job = yaml.safe_load_all((REPOSITORY / "deploy" / "archive" / "fetch.yaml").read_text())
    spec = job["spec"]["template"]["spec"]
    (fetch,) = spec["containers"]
    claim = mounted(spec, tmp_path / "job")
    command = [URL if each.startswith("s3://") else each for each in words(fetch["command"] + fetch["args"], claim)]
    assert command[0] == "kraft-archive"
    done = subprocess.run(
        [*PROGRAM, *command[1:]], env=environment(fetch, claim, endpoint), cwd=REPOSITORY, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fetched = log_bytes(Path(claim["/claim"]) / "log" / DIRECTORY)
    assert fetched == kept, "what was synced was put before it ended, and comes back byte for byte"
    said = f"{made}{page}{archive.log.read_text()}{done.stdout}{done.stderr}"
    assert [each for each in (KEY, "canary-of-the-store") if each in said or each.encode() in front.came] == []
