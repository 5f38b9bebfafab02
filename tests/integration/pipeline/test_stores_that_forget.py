"""A store that lists late, and one that loses what it acknowledged, in front of a real S3 server: for the lake's
commits, the archive's copy and what is made of it, and for logs that are read from a bucket. What is lost is named, the
same command again makes it whole, nothing is there twice, and nothing half.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from metadata_pipeline.archive import manifest as manifests
from metadata_pipeline.archive.fetching import fetch
from metadata_pipeline.archive.manifest import FAN
from metadata_pipeline.archive.opening import DIRECTORY
from metadata_pipeline.archive.problems import StoreStanding
from metadata_pipeline.archive.shipping import Shipper, StoreSettings, open_objects
from metadata_pipeline.archive.telling import Telling
from metadata_pipeline.audit.copies import judge
from metadata_pipeline.cli import main
from metadata_pipeline.jobs.ingest import lake_state
from metadata_pipeline.store.bucket import Bucket
from metadata_pipeline.store.mirror import mirrored
from metadata_pipeline.tables.committed import clusters
from metadata_pipeline.wire.files import log_name
from metadata_pipeline.wire.leader import Mark
from support.disks.log_fleet import Disk, History
from support.object_store.s3_server import BUCKET, S3Server
from support.object_store.unreliable import UnreliableFront
from support.pipeline.archives import log_bytes
from support.pipeline.lake_rows import log_rows

pytestmark = pytest.mark.integration

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def front(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UnreliableFront]:
    with UnreliableFront(server.port) as running:
        for name, value in {**server.environment, **running.environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("QUORATE_LAKE_CACHE", str(tmp_path / "here"))
        yield running


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"s3://{BUCKET}/{hashlib.sha256(request.node.name.encode()).hexdigest()[:16]}"


class Logs:
    """One node's log of one cluster, as files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.history = History(CLUSTER, (1,))
        self.history.lead(1)
        self.grows()

    def grows(self) -> None:
        self.history.idle(10)
        Disk(self.root / "node-1", CLUSTER, 1).write(self.history)


def offsets_elsewhere(url: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As a machine sees the lake that has nothing of it yet."""
    with monkeypatch.context() as other:
        other.setenv("QUORATE_LAKE_CACHE", str(cache))
        with mirrored(url) as home:
            return [row[0] for row in log_rows(home, 1)]


def test_a_lake_needs_no_listing(
    front: UnreliableFront, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, front.lists_late = Logs(tmp_path / "logs"), True
    for number in range(2):
        assert main(["ingest", str(logs.root), "--output", url, "--master", "none"]) == 0
        seen = offsets_elsewhere(url, tmp_path / f"there-{number}", monkeypatch)
        assert seen == list(range(logs.history.end)), "each once"
        logs.grows()
    assert front.unlisted
    assert front.listings == 0, "commits are asked for by number"


@pytest.mark.parametrize(
    "lost", [r"/data/records/", r"/_commits/", r"/_redaction_key$"], ids=["rows", "commit", "redaction key"]
)
def test_what_a_store_forgets_of_a_commit_is_named_and_the_same_command_again_makes_it(
    lost: str, front: UnreliableFront, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    logs = Logs(tmp_path / "logs")
    command = ["ingest", str(logs.root), "--output", url, "--master", "none"]
    front.forgets = re.compile(lost)
    assert main(command) == 2
    told = capsys.readouterr().err
    assert front.forgotten
    assert front.forgotten[0].partition("/")[2] in told, "the object is named"
    front.forgets = None
    assert offsets_elsewhere(url, tmp_path / "there", monkeypatch) == [], "nothing half-visible"
    assert main(command) == 0
    assert offsets_elsewhere(url, tmp_path / "elsewhere", monkeypatch) == list(range(logs.history.end)), "each once"


def test_a_log_whose_middle_is_listed_late_has_a_hole_that_is_told_and_filled_when_it_is_listed(
    front: UnreliableFront, url: str, tmp_path: Path, server: S3Server
) -> None:
    logs, bucket, lake = Logs(tmp_path / "logs"), Bucket(f"{url}/logs"), tmp_path / "lake"
    logs.history.idle(30)
    disk = Disk(tmp_path / "segments", CLUSTER, 1)
    batches, ends = logs.history.batches, (0, 15, 30, len(logs.history.batches))
    for path in (disk.home / "meta.properties", *disk.home.rglob("quorum-state")):
        bucket.put(f"node-1/{path.relative_to(disk.home)}", path.read_bytes())
    for number, (first, behind) in enumerate(pairwise(ends)):
        front.lists_late = number == 1
        data = b"".join(each.data for each in batches[first:behind])
        bucket.put(f"node-1/{DIRECTORY}/{log_name(batches[first].base)}", data)
    assert len(front.unlisted) == 1
    port = front.environment["AWS_ENDPOINT_URL"].rpartition(":")[2]
    at = f"{url}/logs?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    assert main(["ingest", at, "--output", str(lake), "--master", "none"]) == 0
    state = lake_state(lake)
    assert [each.kind for each in judge(state, clusters(state)) if each.severity != "note"] == ["gap"]
    assert len(log_rows(lake, 1)) < logs.history.end
    front.lists_all()
    assert main(["ingest", at, "--output", str(lake), "--master", "none"]) == 0
    state = lake_state(lake)
    assert [row[0] for row in log_rows(lake, 1)] == list(range(logs.history.end)), "each once"
    assert [each.kind for each in judge(state, clusters(state)) if each.severity != "note"] == []


class Archived:
    """An archive's disk as a follower would have written it, and whoever copies it."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.url = home, url
        self.history = History(CLUSTER)
        self.history.lead(1)
        (home / DIRECTORY).mkdir(parents=True)
        self.grows()

    def grows(self) -> None:
        self.history.idle(3)
        (self.home / DIRECTORY / log_name(0)).write_bytes(b"".join(each.data for each in self.history.batches))

    def shipper(self) -> Shipper:
        def seen() -> Telling:
            mark = Mark(self.history.end, self.history.epoch)
            return replace(Telling(), cluster_id=CLUSTER, begun="1", start=0, mark=mark)

        return Shipper(self.home, StoreSettings(self.url, piece_seconds=0, verify_seconds=600), seen, print)

    @property
    def bytes(self) -> bytes:
        return log_bytes(self.home / DIRECTORY)


def brought(url: str, home: Path) -> bytes:
    """What is made of the copy: a directory that a new cluster can be formed from."""
    objects = open_objects(StoreSettings(url))
    found = objects.manifest()
    assert found is not None
    fetch(home, objects, found, found.now)
    return log_bytes(home / DIRECTORY)


@pytest.mark.parametrize("lost", ["/log/", f"/{manifests.NAME}$"], ids=["piece", "manifest"])
def test_a_copy_whose_store_forgets_says_lost_and_what_was_there_before_can_still_be_brought(
    lost: str, front: UnreliableFront, url: str, tmp_path: Path
) -> None:
    """Also where small pieces had just become one: what the store's manifest names is there."""
    archive = Archived(tmp_path / "archive", url)
    shipper = archive.shipper()
    for _ in range(FAN):
        archive.grows()
        assert shipper.step()
    before = brought(url, tmp_path / "before")
    assert before == archive.bytes
    archive.grows()
    front.forgets = re.compile(lost)
    assert not shipper.step()
    assert (shipper.telling.standing, bool(front.forgotten)) == (StoreStanding.LOST, True)
    front.forgets = None
    assert brought(url, tmp_path / "meanwhile") == before, "an earlier state, whole"
    assert shipper.step(), shipper.telling
    assert brought(url, tmp_path / "after") == archive.bytes


def test_a_copys_beginning_that_the_store_forgets_is_told_and_begun_again(
    front: UnreliableFront, url: str, tmp_path: Path
) -> None:
    archive = Archived(tmp_path / "archive", url)
    shipper = archive.shipper()
    front.forgets = re.compile(manifests.NAME)
    assert not shipper.step()
    assert shipper.telling.standing is StoreStanding.LOST
    assert Bucket(url).names("log") == []
    front.forgets = None
    assert shipper.step()
    assert brought(url, tmp_path / "copy") == archive.bytes


def test_a_copy_whose_store_lists_late_is_whole_and_what_nobody_names_goes_when_it_is_listed(
    front: UnreliableFront, url: str, tmp_path: Path
) -> None:
    archive = Archived(tmp_path / "archive", url)
    shipper = archive.shipper()
    front.lists_late = True
    assert shipper.step()
    orphan = open_objects(StoreSettings(url)).put("log/of-a-writer-that-died", b"x", 1).name
    archive.grows()
    again = archive.shipper()
    assert again.step(), "it takes the store over"
    assert Bucket(url).names("log") == []
    assert brought(url, tmp_path / "copy") == archive.bytes, "all that is named is there, listed or not"
    front.lists_all()
    assert orphan in [name.removeprefix(url.removeprefix(f"s3://{BUCKET}/") + "/") for name in Bucket(url).names("log")]
    assert archive.shipper().step()
    assert [name for name in Bucket(url).names("log") if name.endswith(orphan)] == []
    assert brought(url, tmp_path / "again") == archive.bytes
