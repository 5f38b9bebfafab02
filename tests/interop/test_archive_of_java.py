"""The archive's follower beside Apache Kafka's own controllers: what it keeps over a fail-over are their bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.protocol.record_batch import batch_headers
from controller_runtime.storage.filesystem import OsFileSystem
from metadata_pipeline.archive.opening import DIRECTORY
from storage_guard.archived import Point, survey_archive
from support.apache_kafka.mixed_quorum import MixedQuorum
from support.clients.config_load import ConfigLoad
from support.nodes.processes import CLUSTER_ID
from support.pipeline.archives import Archive, log_bytes

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "3000", "metadata.max.idle.interval.ms": "100"}


@pytest.mark.timeout(400)
def test_an_archive_of_apache_kafkas_controllers_has_their_bytes_over_a_fail_over(tmp_path: Path) -> None:
    home = tmp_path / "archive"
    with MixedQuorum(tmp_path / "quorum", "JJJ", extra=OFTEN) as quorum:
        quorum.start()
        archive = Archive(home, quorum.bootstrap, "--segment-bytes", "8000", "--snapshot-seconds", "1")
        with archive.running(), ConfigLoad(quorum.bootstrap) as load:
            load.wait_for(40)
            archive.reaches("Following", 20)
            epoch = quorum.quorum().leader_epoch
            leader = quorum.leader()
            quorum.kill(leader)
            quorum.leader(other_than=leader)
            load.wait_for(40)
            end = quorum.quorum().high_watermark
            archive.reaches("Following", end)
            assert archive.end() == 0
        kept, copies = log_bytes(home / DIRECTORY), [quorum.metadata(node) for node in {1, 2, 3} - {leader}]
        for copy in copies:
            assert log_bytes(copy).startswith(kept), "a majority of two has all that was committed"
        placed = list(batch_headers(kept))
        assert placed[0].base_offset == 0
        assert placed[-1].next_offset >= end
        assert placed[-1].partition_leader_epoch > epoch, "it followed the next leader"
        compared = 0
        for kept_one in (home / DIRECTORY).glob("*.checkpoint"):
            theirs = [path for node in (1, 2, 3) if (path := quorum.metadata(node) / kept_one.name).exists()]
            compared += len(theirs)  # the controllers delete older ones
            assert not theirs or kept_one.read_bytes() in [path.read_bytes() for path in theirs], kept_one.name
        assert compared
    found = survey_archive(OsFileSystem(), str(home), CLUSTER_ID, Point(offset=end - 1))
    assert end - 10 < found.end <= end, "and a cluster can be formed from it"
