"""An archive's copy in an S3 bucket, served by an S3 server that is not ours: what is put there is the log's bytes, a
directory is made of it again, of two writers one is refused, and what the store loses is told.
"""

from __future__ import annotations

import base64
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from controller_runtime.storage.filesystem import OsFileSystem
from kraft_operator.operations.survivors import findings, survivors
from metadata_pipeline.archive import manifest as manifests
from metadata_pipeline.archive.command import main
from metadata_pipeline.archive.fetching import BESIDE, fetch, fill_empty
from metadata_pipeline.archive.manifest import FAN
from metadata_pipeline.archive.opening import DIRECTORY, open_archive
from metadata_pipeline.archive.problems import StoreProblem, StoreStanding
from metadata_pipeline.archive.shipping import Shipper, StoreSettings, open_objects
from metadata_pipeline.archive.telling import Telling
from metadata_pipeline.store.bucket import Bucket
from metadata_pipeline.wire.files import log_name, snapshot_name
from metadata_pipeline.wire.leader import Mark
from storage_guard.survey import survey
from support.disks.log_fleet import History, topic
from support.nodes.processes import Cluster, eventually
from support.object_store.s3_server import BUCKET, S3Server
from support.pipeline.archives import Archive, log_bytes

pytestmark = pytest.mark.integration

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
NOBODY = Telling()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def url(server: S3Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/archives/{request.node.name[:60]}"


def keys(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "2026-11").write_bytes(base64.b64encode(b"k" * 32))
    return folder


@dataclass
class Local:
    """An archive's own disk, as a follower would have written it, and what it says."""

    home: Path
    history: History = field(default_factory=lambda: History(CLUSTER))
    start: int = 0
    begun: str = "1.0"
    cluster: str = CLUSTER
    snapshots: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        if not self.history.batches:
            self.history.lead(1)
        (self.home / DIRECTORY).mkdir(parents=True, exist_ok=True)
        self.written()

    def grows(self, batches: int = 5) -> Telling:
        self.history.append(topic(self.history.end, f"canary-{self.history.end}"))
        self.history.idle(batches - 1)
        return self.written()

    def written(self) -> Telling:
        bytes_ = b"".join(each.data for each in self.history.batches if each.base >= self.start)
        (self.home / DIRECTORY / log_name(self.start)).write_bytes(bytes_)
        return self.seen()

    def seen(self) -> Telling:
        mark = Mark(self.history.end, self.history.epoch)
        return replace(
            NOBODY, cluster_id=self.cluster, begun=self.begun, start=self.start, mark=mark, snapshots=self.snapshots
        )  # fmt: skip

    def takes_a_snapshot(self) -> None:
        mark = Mark(self.history.end, self.history.epoch)
        (self.home / DIRECTORY / snapshot_name(mark)).write_bytes(b"of what was so at its end")
        self.snapshots = (*self.snapshots, mark)

    def shipper(self, url: str, **settings: object) -> Shipper:
        asked = replace(StoreSettings(url, piece_seconds=0, verify_seconds=0), **settings)  # type: ignore[arg-type]
        return Shipper(self.home, asked, self.seen, print)


def shipped(shipper: Shipper) -> int:
    assert shipper.step(), shipper.telling
    assert shipper.telling.standing is StoreStanding.SHIPPING
    return shipper.telling.end


def brought(url: str, home: Path, folder: Path | None = None) -> bytes:
    objects = open_objects(StoreSettings(url, folder))
    found = objects.manifest()
    assert found is not None
    fetch(home, objects, found, found.now)
    return log_bytes(home / DIRECTORY)


def test_a_followers_disk_is_lost_and_filled_from_the_store_and_a_recovery_reads_it(
    url: str, server: S3Server, tmp_path: Path
) -> None:
    """The program beside a living quorum, with a key: killed, its disk deleted, started again."""
    home, copy, folder = tmp_path / "archive", tmp_path / "copy", keys(tmp_path / "keys")
    more = ("--store", url, "--store-keys", str(folder), "--store-seconds", "0.3", "--store-bytes", "3000")
    with Cluster(tmp_path, controllers=1) as cluster:
        cluster.start()
        archive = Archive(home, cluster.bootstrap_controllers, *more)
        archive.command = ["env", *(f"{name}={value}" for name, value in server.environment.items()), *archive.command]
        with archive.running():
            archive.reaches("Following", 12)
            eventually("its copy", lambda: (archive.status().get("store") or {}).get("end", 0) >= 12)
            assert archive.end(signal.SIGKILL) == -signal.SIGKILL
            shutil.rmtree(home)
            archive.start()
            archive.reaches("Following", 24)
            assert "the disk was empty" in archive.log.read_text()
            told = eventually(
                "it goes on", lambda: (now := archive.status()).get("store", {}).get("end", 0) >= 24 and now
            )
            assert 'kraft_archive_store_standing{standing="Shipping"} 1' in archive.page("/metrics")
            assert archive.end() == 0
        assert (told["store"]["encrypted"], told["store"]["keys"], told["start"]) == (True, ["2026-11"], 0)
        controller = Path(cluster.nodes[1].properties["log.dirs"]) / DIRECTORY
        assert main(["fetch", url, str(copy), "--store-keys", str(folder)]) == 0
        kept = log_bytes(copy / DIRECTORY)
        assert kept == log_bytes(home / DIRECTORY), "what was synced was put before it ended"
        assert log_bytes(controller).startswith(kept), "byte for byte"
    objects = [Bucket(url).get(name) or b"" for kind in ("log", "snapshots") for name in Bucket(url).names(kind)]
    assert objects
    assert not [each for each in objects if b"metadata.version" in each], "nobody reads it without the key"
    assert b"metadata.version" in kept
    found = survey(OsFileSystem(), str(copy), 0, [])
    assert found.known == found.end >= 24
    alone = findings(survivors({"archive": found}), {}, {})
    assert alone.verdict.seed is not None, "with every disk gone, the archive's too, the store is the best copy"
    assert alone.verdict.seed.end == found.end


def test_many_small_pieces_become_few_and_are_the_same_bytes(url: str, tmp_path: Path) -> None:
    local = Local(tmp_path / "a")
    shipper = local.shipper(url)
    for _ in range(FAN * 3 + 2):
        local.grows(3)
        assert shipped(shipper) == local.history.end
    assert shipper.telling.objects == 3 + 2, "three of sixteen each, and the last two"
    assert len(Bucket(url).names("log")) == shipper.telling.objects, "what was merged is gone"
    assert brought(url, tmp_path / "copy") == log_bytes(local.home / DIRECTORY)
    assert not shipper.telling.encrypted
    opened = open_archive(tmp_path / "copy", CLUSTER, "1.0", 0.0)
    opened.lock.release()
    assert opened.examined.mark.end == local.history.end


def test_of_two_writers_the_older_one_is_refused_and_puts_nothing_any_more(url: str, tmp_path: Path) -> None:
    one = Local(tmp_path / "one")
    one.grows()
    first = one.shipper(url)
    shipped(first)
    brought(url, tmp_path / "two")
    two = Local(tmp_path / "two", one.history)
    second = two.shipper(url)
    two.grows()
    end = shipped(second)
    one.grows()
    assert not first.step()
    assert first.telling.standing is StoreStanding.IN_USE
    names = Bucket(url).names("log")
    one.grows()
    assert not first.step()
    assert Bucket(url).names("log") == names
    two.written()
    assert shipped(second) > end, "the other one goes on"
    assert brought(url, tmp_path / "copy") == log_bytes(two.home / DIRECTORY)


def test_another_history_or_cluster_is_refused_before_anybody_is_fenced(url: str, tmp_path: Path) -> None:
    local = Local(tmp_path / "a")
    local.grows(20)
    shipper = local.shipper(url)
    shipped(shipper)
    fork = Local(tmp_path / "fork", local.history.fork(4))
    fork.history.lead(2, 9)
    fork.grows(30)
    other = fork.shipper(url)
    assert not other.step()
    assert (other.telling.standing, other.telling.end) == (StoreStanding.FORKED, -1)
    fork.cluster = "OtherOtherOtherOtherOt"
    assert not other.step()
    assert other.telling.standing is StoreStanding.ANOTHER_CLUSTER
    local.grows()
    assert shipped(shipper) == local.history.end, "nobody took it over"
    fork.cluster, fork.begun = CLUSTER, "2.0"
    assert shipped(other) == fork.history.end, "another beginning sets the first one aside"
    assert main(["fetch", url, str(tmp_path / "old"), "--aside", "1"]) == 0
    assert log_bytes(tmp_path / "old" / DIRECTORY) == log_bytes(local.home / DIRECTORY)
    assert brought(url, tmp_path / "new") == log_bytes(fork.home / DIRECTORY)


@pytest.mark.parametrize("batches", [3, 4], ids=["ends where a piece does", "ends within a piece"])
def test_a_fork_that_ends_before_the_last_pieces_is_refused(url: str, tmp_path: Path, batches: int) -> None:
    local = Local(tmp_path / "a")
    local.history.idle(2)
    shipper = local.shipper(url)
    for _ in range(FAN - 1):
        local.grows(3)
        shipped(shipper)
    fork = Local(tmp_path / "fork", local.history.fork(5))
    fork.history.lead(2, 9)
    fork.history.idle(batches)
    fork.written()
    assert fork.history.end < local.history.end - 20, "the last eight pieces are not in it"
    other = fork.shipper(url)
    assert not other.step()
    assert other.telling.standing is StoreStanding.FORKED
    local.grows()
    assert shipped(shipper) == local.history.end, "nobody took it over"
    behind = Local(tmp_path / "behind", local.history.fork(fork.history.end))
    assert behind.shipper(url).step(), "an older copy of the same log is none"


def test_what_is_there_is_proven_once_the_first_piece_is_there(url: str, tmp_path: Path) -> None:
    local = Local(tmp_path / "a")
    shipper = local.shipper(url, verify_seconds=600.0)
    end = shipped(shipper)
    assert shipper.telling.verified_end == end > 0
    local.grows()
    assert shipped(shipper) > end
    assert shipper.telling.verified_end == end, "and then in its time"
    local.begun = "2.0"
    assert shipped(shipper) == shipper.telling.verified_end, "another beginning is proven, too"


def test_a_clock_that_jumps_ahead_lets_go_of_nothing_in_the_store(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = Local(tmp_path / "a")
    shipper = local.shipper(url, keep_seconds=3600.0)
    for _ in range(2):
        local.grows()
        local.takes_a_snapshot()
        shipped(shipper)
    ahead = time.time() + 365 * 24 * 3600
    monkeypatch.setattr("time.time", lambda: ahead)
    local.grows()
    assert shipped(shipper) == local.history.end
    assert shipper.telling.verified == ahead, "it was looked for what may go"
    assert (shipper.telling.start, len(Bucket(url).names("snapshots"))) == (0, 2)
    later = local.shipper(url, keep_seconds=3600.0)
    shipped(later)
    assert len(Bucket(url).names("snapshots")) == 1, "whoever starts by this clock has no other"
    assert later.telling.start == local.snapshots[1].end


def test_what_the_store_lost_is_named_and_put_again_if_the_disk_has_it(url: str, tmp_path: Path) -> None:
    local = Local(tmp_path / "a")
    local.grows()
    shipper = local.shipper(url)
    shipped(shipper)
    local.grows()
    shipped(shipper)
    bucket = Bucket(url)
    lost = min(bucket.names("log"))
    bucket.delete([lost])
    with pytest.raises(StoreProblem, match=f"{lost} of {url} is not there"):
        brought(url, tmp_path / "half")
    assert [each.name for each in (tmp_path / "half").iterdir()] == [BESIDE], "nothing half-visible"
    shipped(shipper)
    assert brought(url, tmp_path / "half") == log_bytes(local.home / DIRECTORY), "begun again"
    for broken in (b"", b"x" * 1000):
        name = max(bucket.names("log"))
        bucket.put(name, broken)
        shutil.rmtree(local.home)
        assert not shipper.step()
        assert shipper.telling.standing is StoreStanding.DAMAGED
        assert name in shipper.telling.why
        local = Local(local.home, local.history)
        shipper = local.shipper(url)
        shipped(shipper)


def test_a_store_that_went_back_in_time_is_told_and_filled_again(url: str, tmp_path: Path) -> None:
    local = Local(tmp_path / "a")
    local.grows()
    shipper = local.shipper(url)
    shipped(shipper)
    old = Bucket(url).get(manifests.NAME)
    assert old is not None
    local.grows()
    shipped(shipper)
    Bucket(url).put(manifests.NAME, old)
    local.grows()
    assert not shipper.step()
    assert shipper.telling.standing is StoreStanding.LOST
    assert shipped(shipper) == local.history.end
    assert brought(url, tmp_path / "copy") == log_bytes(local.home / DIRECTORY)


def test_a_store_without_its_manifest_is_not_begun_anew_beside_what_nobody_names(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local, bucket = Local(tmp_path / "a"), Bucket(url)
    local.grows()
    shipper = local.shipper(url)
    shipped(shipper)
    version = bucket.get(manifests.NAME)
    assert version is not None
    bucket.delete([manifests.NAME])
    local.grows()
    assert not shipper.step()
    assert shipper.telling.standing is StoreStanding.LOST
    objects = bucket.names("log")
    for each in (shipper, local.shipper(url)):
        assert not each.step()
        assert each.telling.standing is StoreStanding.UNNAMED
        assert f"{len(objects)} objects of an archive, {objects[0]} first" in each.telling.why
    assert main(["fetch", url, str(tmp_path / "copy")]) == 1
    assert "restore archive.json from the store's versions" in capsys.readouterr().err
    assert bucket.get(manifests.NAME) is None
    bucket.put(manifests.NAME, version)
    assert shipped(shipper) == local.history.end, "it goes on"
    assert bucket.names("log")[0] == objects[0]
    bucket.delete([manifests.NAME, *bucket.names("log")])
    local.grows()
    assert not shipper.step()
    assert shipped(shipper) == local.history.end, "an empty store is filled anew"
    assert brought(url, tmp_path / "copy") == log_bytes(local.home / DIRECTORY)


def test_a_manifest_or_keys_that_cannot_be_understood_are_told(url: str, tmp_path: Path) -> None:
    local, folder = Local(tmp_path / "a"), keys(tmp_path / "keys")
    local.grows()
    shipped(local.shipper(url, keys=folder))
    with pytest.raises(StoreProblem, match="sealed with the key 2026-11") as refused:
        brought(url, tmp_path / "copy")
    assert refused.value.standing is StoreStanding.BAD_KEYS
    nothing = local.shipper(url, keys=tmp_path / "nowhere")
    assert not nothing.step()
    assert nothing.telling.standing is StoreStanding.BAD_KEYS
    Bucket(url).put(manifests.NAME, b"{}")
    shipper = local.shipper(url, keys=folder)
    assert not shipper.step()
    assert shipper.telling.standing is StoreStanding.DAMAGED
    assert main(["fetch", url, str(tmp_path / "copy2")]) == 1
    assert not (tmp_path / "copy2").exists()


def test_an_empty_disk_takes_only_the_log_that_it_goes_on_with(url: str, tmp_path: Path) -> None:
    local = Local(tmp_path / "a")
    local.grows()
    assert fill_empty(tmp_path / "b", StoreSettings(url), CLUSTER, "1.0") is None, "nothing is there yet"
    shipped(local.shipper(url))
    for cluster, begun in ((CLUSTER, "2.0"), ("OtherOtherOtherOtherOt", "1.0")):
        assert fill_empty(tmp_path / "b", StoreSettings(url), cluster, begun) is None
    (tmp_path / "b" / BESIDE).mkdir(parents=True)
    (tmp_path / "b" / DIRECTORY).mkdir()  # as a process leaves it that was killed between two renames
    assert fill_empty(tmp_path / "b", StoreSettings(url), CLUSTER, "1.0") == Mark(local.history.end, 1)
    assert fill_empty(tmp_path / "b", StoreSettings(url), CLUSTER, "1.0") is None, "it is there"
    assert main(["fetch", url, str(tmp_path / "b")]) == 2


class Closed(BaseHTTPRequestHandler):
    """A store that lets nobody in."""

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def test_a_store_that_refuses_or_is_away_is_told_and_nothing_is_lost(
    url: str, server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = Local(tmp_path / "a")
    local.grows()
    with ThreadingHTTPServer(("127.0.0.1", 0), Closed) as closed:
        thread = threading.Thread(target=closed.serve_forever)
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.server_address[1]}")
        shipper = local.shipper(url)
        assert not shipper.step()
        assert shipper.telling.standing is StoreStanding.REFUSED
        with pytest.raises(StoreProblem):
            fill_empty(tmp_path / "b", StoreSettings(url), CLUSTER, "1.0")
        closed.shutdown()
        thread.join()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.environment["AWS_ENDPOINT_URL"])
    assert shipped(shipper) == local.history.end
