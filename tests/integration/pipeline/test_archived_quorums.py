"""`kraft-pipeline archive` beside living quorums: what it keeps is what the disks have, byte for byte, through kills,
fail-overs, trimming and damage; what it must not keep is refused in a word.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.record_batch import batch_headers
from controller_runtime.storage.filesystem import OsFileSystem
from kraft_operator.operations.survivors import findings, survivors
from metadata_pipeline.archive.following import Follower, Settings
from metadata_pipeline.archive.opening import DIRECTORY
from metadata_pipeline.jobs.ingest import ingest
from metadata_pipeline.wire.fleet import Quorum
from storage_guard.copies import CopyReport, Helper
from storage_guard.helping import help_out
from storage_guard.recover import Order, recover
from storage_guard.survey import survey
from support.clients.config_load import ConfigLoad, read_back
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, eventually
from support.pipeline.archives import Archive, log_bytes
from support.pipeline.lake_rows import log_rows

pytestmark = pytest.mark.integration

DRILL_ID = str(Uuid(b"cluster of drill"))
PRUNING = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "metadata.max.retention.bytes": "1",
}


def disk(node: NodeProcess) -> Path:
    return Path(node.properties["log.dirs"]) / DIRECTORY


def test_an_archive_has_the_bytes_of_the_disks_through_kills_and_a_fail_over(tmp_path: Path) -> None:
    home = tmp_path / "archive"
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        archive = Archive(home, cluster.bootstrap_controllers, "--segment-bytes", "3000", "--verify-seconds", "1")
        with archive.running():
            first = archive.reaches("Following", 30)
            assert archive.end(signal.SIGKILL) == -signal.SIGKILL
            with (home / DIRECTORY / max(each.name for each in (home / DIRECTORY).glob("*.log"))).open("ab") as torn:
                torn.write(b"\0" * 40)
            archive.start()
            archive.reaches("Following", first["end"] + 1)
            leader.kill()
            cluster.wait_for_leader(other_than=leader.node_id)
            end = eventually("a committed record", lambda: cluster.quorum().high_watermark)
            archive.reaches("Following", end)
            seen = eventually("a verification of it", lambda: (archive.status()["verified"] or {}).get("end", 0) >= end
                              and archive.status())  # fmt: skip
            metrics = archive.page("/metrics")
            assert archive.end() == 0
        ended = cluster.quorum().high_watermark
        copies = [disk(node) for node in cluster.controller_nodes if node is not leader]
    kept = log_bytes(home / DIRECTORY)
    assert len(list((home / DIRECTORY).glob("*.log"))) > 1
    assert kept
    assert any(log_bytes(copy).startswith(kept) for copy in copies), "byte for byte"
    last = list(batch_headers(kept))[-1]
    assert end <= last.base_offset + last.last_offset_delta + 1 <= ended + 100
    assert seen["lag"] <= 5
    assert 'kraft_archive_standing{standing="Following"} 1' in metrics
    assert f"kraft_archive_verified_end_offset {seen['verified']['end']}" in metrics or "verified_end_offset" in metrics
    found = survey(OsFileSystem(), str(home), 0, [seen["verified"]["end"]])
    assert found.cluster_id == CLUSTER_ID
    assert found.digests == {seen["verified"]["end"]: seen["verified"]["digest"]}, "the guard finds the same bytes"
    assert found.promised >= seen["leaderEpoch"]
    assert found.known == found.end, "all of it was committed"
    reports = {str(copy): survey(OsFileSystem(), str(copy.parent), 0, [found.end]) for copy in copies}
    digests = {each.digests.get(found.end) for each in reports.values()}
    assert survey(OsFileSystem(), str(home), 0, [found.end]).digests[found.end] in digests
    alone = findings(survivors({"archive": found}), {}, {})
    assert alone.verdict.seed is not None, "with every disk gone the archive is the best copy"
    assert (alone.verdict.seed.end, len(alone.missing)) == (found.end, 3)
    older = replace(found, end=found.end - 10, known=0, node_id=1, directory_id=found.voters[0][1])
    behind = findings(survivors({"archive": found, "old": older}), {}, {}).verdict
    assert behind.seed is not None
    assert behind.seed.node_id == -1, "a disk that ends before what was archived lost what was committed"
    assert {each.stat().st_mode & 0o077 for each in home.rglob("*")} == {0}, "it holds the log's secrets"
    ingest([str(home)], tmp_path / "lake")
    assert [it[0] for it in log_rows(tmp_path / "lake")] == list(range(found.end)), "and is read as any log directory"


def test_an_archive_that_the_quorum_trimmed_past_keeps_what_it_had_and_says_so(tmp_path: Path) -> None:
    home = tmp_path / "archive"
    with Cluster(tmp_path, controllers=1, extra=PRUNING) as cluster:
        cluster.start()
        archive = Archive(home, cluster.bootstrap_controllers, "--snapshot-seconds", "1", "--keep-hours", "0.0005")
        with archive.running():
            before = archive.reaches("Following", 10)
            assert archive.end() == 0
            old = log_bytes(home / DIRECTORY)
            eventually(
                "a quorum that begins behind the archive",
                lambda: any(
                    int(each.name[:20]) > before["end"] + 50 for each in disk(cluster.nodes[1]).glob("*.checkpoint")
                ),
            )
            archive.start()
            now = archive.reaches("Following", before["end"] + 50)
            assert now["start"] > before["end"]
            assert now["snapshots"][0][0] == now["start"]
            assert now["quorumLogStart"] >= now["start"]
            (aside,) = home.glob("aside-*")
            assert log_bytes(aside / DIRECTORY) == old, "kept whole"
            eventually("a newer snapshot", lambda: archive.status()["snapshots"][0][0] > now["start"])
            eventually("what is too old to go", lambda: not list(home.glob("aside-*")))
            assert archive.end() == 0
        found = survey(OsFileSystem(), str(home))
    assert found.known > now["start"]
    assert found.end == found.known, "an archive keeps nothing but what a leader called committed"


async def test_a_clock_that_jumps_ahead_lets_go_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The follower in this process, whose clock is set; the quorum's stays right."""
    home, real, ahead = tmp_path / "archive", time.time, [0.0]
    monkeypatch.setattr("time.time", lambda: real() + ahead[-1])
    aside = home / "aside-1" / DIRECTORY
    aside.mkdir(parents=True, mode=0o700)
    (aside / "00000000000000000000.log").touch()

    async def follow(until: Callable[[set[str]], bool]) -> set[str]:
        """The snapshots that are there when it is so."""
        stop = asyncio.Event()
        quorum = Quorum("archived", cluster.bootstrap_controllers, CLUSTER_ID)
        settings = Settings(home, quorum, keep_seconds=3600.0, poll_seconds=0.1, snapshot_seconds=0.3)
        following = asyncio.create_task(Follower(settings, print).run(stop))
        try:
            async with asyncio.timeout(60):
                while not until(found := {each.name for each in (home / DIRECTORY).glob("*.checkpoint")}):
                    await asyncio.sleep(0.05)
        finally:
            stop.set()
            await following
        return found

    def jumped(found: set[str]) -> bool:
        if len(found) == 2:
            ahead.append(365 * 24 * 3600.0)
        return len(found) >= 4

    with Cluster(tmp_path, controllers=1, extra={**PRUNING, "metadata.max.retention.bytes": "1000000"}) as cluster:
        cluster.start()
        kept = await follow(jumped)
        assert len(ahead) > 1, "it was asked what may go after the clock had jumped"
        assert aside.exists()
        await follow(lambda found: bool(found) and not kept & found)
        assert not aside.exists(), "whoever starts by this clock has no other"


def test_what_is_not_the_archives_quorum_any_more_is_refused_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "archive"
    with Cluster(tmp_path / "first", controllers=1) as cluster:
        cluster.start()
        archive = Archive(home, cluster.bootstrap_controllers)
        with archive.running():
            archive.reaches("Following", 60)
    kept = log_bytes(home / DIRECTORY)
    slow = {"metadata.max.idle.interval.ms": "5000"}  # or it reaches the archive's offset, in the same epoch
    with Cluster(tmp_path / "second", controllers=1, extra=slow) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        eventually("records of its own", lambda: cluster.quorum().high_watermark > 3)
        forked = Archive(home, cluster.bootstrap_controllers)
        with forked.running():
            said = forked.reaches("Forked")
            assert "does not have offset" in said["why"]
            assert "--begin" in said["next"]
        assert log_bytes(home / DIRECTORY) == kept
        other = Archive(home, cluster.bootstrap_controllers, cluster_id="OtherOtherOtherOtherOt")
        with other.running():
            assert CLUSTER_ID in other.reaches("AnotherCluster", -1)["why"]
        mistaken = Archive(tmp_path / "mistaken", cluster.bootstrap_controllers, cluster_id="OtherOtherOtherOtherOt")
        with mistaken.running():
            mistaken.reaches("AnotherCluster", -1)
        assert not list((tmp_path / "mistaken" / DIRECTORY).glob("*.log"))
        anew = Archive(home, cluster.bootstrap_controllers, "--begin", "2")
        with anew.running():
            anew.reaches("Following", 4)
        assert log_bytes(home / "aside-1" / DIRECTORY) == kept
        assert log_bytes(disk(cluster.nodes[1])).startswith(log_bytes(home / DIRECTORY))


def test_damage_and_truncation_are_told_apart_and_nothing_is_written_over_them(tmp_path: Path) -> None:
    home = tmp_path / "archive"
    with Cluster(tmp_path, controllers=1) as cluster:
        cluster.start()
        archive = Archive(home, cluster.bootstrap_controllers, "--verify-seconds", "0.5")
        with archive.running():
            archive.reaches("Following", 40)
            (segment,) = (home / DIRECTORY).glob("*.log")
            whole = segment.read_bytes()
            third = list(batch_headers(whole))[2]
            with segment.open("r+b") as file:
                os.pwrite(file.fileno(), bytes([whole[third.position + 70] ^ 1]), third.position + 70)
            said = archive.reaches("Damaged")
            assert f"{segment.name} at byte {third.position}" in said["why"]
            assert archive.end() == 0
        damaged = segment.read_bytes()
        with archive.running():
            archive.reaches("Damaged", -1)
        assert segment.read_bytes() == damaged
        segment.write_bytes(whole[: third.position + 30])
        with archive.running():
            archive.reaches("Truncated", -1)
        segment.write_bytes(whole)
        with archive.running():
            archive.reaches("Following", 40)
            assert "InUse" in second(archive)
    assert (home / DIRECTORY / segment.name).read_bytes().startswith(whole)


def second(archive: Archive) -> str:
    other = Archive(archive.home, "127.0.0.1:1")
    with other.running():
        return str(other.reaches("InUse", -1)["standing"])


def test_drill_with_every_disk_gone_a_quorum_made_of_the_archive_has_all_that_was_acknowledged_up_to_its_end(
    tmp_path: Path,
) -> None:
    home, files, made = tmp_path / "archive", OsFileSystem(), str(Uuid(b"made of archive!"))
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        archive = Archive(home, cluster.bootstrap_controllers)
        with archive.running():
            with ConfigLoad(cluster.bootstrap_controllers) as load:
                load.wait_for(100)
            archive.reaches("Following", cluster.quorum().high_watermark)
            for node in cluster.nodes.values():
                node.kill()
        for node in cluster.nodes.values():
            shutil.rmtree(node.properties["log.dirs"])
        alone = findings(survivors({"archive": survey(files, str(home))}), {}, {}).verdict.seed
        assert alone is not None
        node = cluster.nodes[1]
        order = Order(
            alone.cluster_id, 1, 1, made, "nonce-1", alone.promised + 5, alone.end, alone.last_epoch,
            "CONTROLLER", "127.0.0.1", node.port,
        )  # fmt: skip
        data, kept = node.properties["log.dirs"], log_bytes(home / DIRECTORY)
        recover(files, str(home), data, order, "pod", int(time.time() * 1000), "Sun Nov 22 00:00:00 UTC 2026")
        assert log_bytes(home / DIRECTORY) == kept
        node.start()
        eventually("every acknowledged change is told", lambda: load.names <= read_back(str(node.endpoint), 5.0))
        found = cluster.quorum()
        assert [(int(each.replica_id), str(each.directory_id)) for each in found.voters] == [(1, made)]
        behind = Archive(home, str(node.endpoint))
        with behind.running():
            behind.reaches("Following", alone.end + 1)


def test_drill_of_a_new_cluster_up_to_an_offset_while_the_archived_one_lives_on(tmp_path: Path) -> None:
    """As the helper pods of bootstrap.fromArchive do: one reads the archive, one makes the directory."""
    home, files, made = tmp_path / "archive", OsFileSystem(), str(Uuid(b"made of archive!"))
    with Cluster(tmp_path, controllers=1) as cluster, Cluster(tmp_path / "drill", controllers=1) as drill:
        cluster.start()
        archive = Archive(home, cluster.bootstrap_controllers)
        with archive.running(), ConfigLoad(cluster.bootstrap_controllers) as load:
            load.wait_for(40)
            before = load.names
            point = cluster.quorum().high_watermark - 1
            load.wait_for(40)
            archive.reaches("Following", cluster.quorum().high_watermark)
            asked = {"LOG_DIRECTORY": str(home), "POINT": f"offset:{point}", "ARCHIVE_OF": CLUSTER_ID}
            succeeded, line = help_out(files, Helper.SURVEY, asked, 0, "")
            assert succeeded, line
            found, node = CopyReport.from_json(line), drill.nodes[1]
            assert found.beyond is not None
            assert point - 5 < found.end <= point + 1 < found.beyond.end
            order = {
                "CLUSTER_ID": DRILL_ID, "NODE_ID": "1", "GENERATION": "1", "DIRECTORY_ID": made, "NONCE": "nonce-1",
                "EPOCH": str(found.promised + 1), "END": str(found.end), "LAST_EPOCH": str(found.last_epoch),
                "LISTENER": "CONTROLLER", "HOST": "127.0.0.1", "PORT": str(node.port), "CUT": "true", "POD_UID": "pod",
                "SOURCE": str(home), "LOG_DIRECTORY": node.properties["log.dirs"],
            }  # fmt: skip
            node.write_properties()
            succeeded, line = help_out(files, Helper.RECOVER, order, int(time.time() * 1000), "")
            assert succeeded, line
            node.start()
            eventually("what was acknowledged before", lambda: before <= read_back(str(node.endpoint), 5.0))
            known = read_back(str(node.endpoint))
            later = load.names
            load.wait_for(10)
            assert archive.status()["standing"] == "Following", "the archive and its own cluster live on"
        assert later - known, "what came after the point is not there"
        assert log_bytes(disk(node)).startswith(prefix(home, found.end)), "byte for byte"
        voters = drill.quorum().voters
        assert [(int(each.replica_id), str(each.directory_id)) for each in voters] == [(1, made)]


def prefix(home: Path, end: int) -> bytes:
    whole = log_bytes(home / DIRECTORY)
    return whole[: next((each.position for each in batch_headers(whole) if each.base_offset >= end), len(whole))]
