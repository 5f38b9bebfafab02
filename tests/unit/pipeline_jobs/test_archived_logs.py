"""An archive is one copy, and all of it that its memory vouches for is committed; an audit's summary fits its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller_runtime.protocol.record_batch import HEADER_BYTES, batch_headers
from metadata_pipeline.archive.memory import FILE, Memory, save
from metadata_pipeline.audit.findings import AuditFinding
from metadata_pipeline.audit.summary import LIMIT, MAX_DETAIL, MAX_NAMED, MAX_WORST, name_of, summary
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.tables.committed import clusters
from metadata_pipeline.wire.leader import Mark
from support.disks.log_fleet import Disk, History, topic
from support.pipeline.lake_rows import log_rows

GAP = AuditFinding("c", "gap", 1, "d", "/mnt/one/0.log", 7, 9, "offsets 9 to 12 are missing")


def archive(home: Path, kept: int, cluster: str = "fleet-a") -> None:
    """Of 12 records, of which the memory vouches for `kept`."""
    log = History("fleet-a")
    log.lead(1)
    for number in range(10):
        log.append(topic(number))
    disk = Disk(home, "fleet-a", 9)
    disk.write(log)
    identity = home / "meta.properties"
    identity.write_text(identity.read_text().replace("node.id=9", "node.id=-1"))
    save(home, Memory(cluster, "1.0", Mark(kept, log.epoch_before(kept)), 1))


def committed(lake: Path) -> int:
    (cluster,) = clusters(lake_state(lake))
    return cluster.canon.end


def test_what_an_archive_vouches_for_is_committed_and_no_more_of_it(tmp_path: Path) -> None:
    home, lake = tmp_path / "archive", tmp_path / "lake"
    archive(home, 8)
    ingest(str(home), lake)
    assert committed(lake) == 8
    archive(home, 12)
    assert ingest(str(home), lake).files_read == 0, "no byte is read again"
    assert committed(lake) == 12


def test_bytes_that_are_mended_where_they_lie_are_read_by_a_new_lake_alone(tmp_path: Path) -> None:
    home, lake = tmp_path / "archive", tmp_path / "lake"
    archive(home, 12)
    (file,) = home.rglob("*.log")
    whole = file.read_bytes()
    turned = list(batch_headers(whole))[-3].position + HEADER_BYTES + 2
    file.write_bytes(whole[:turned] + bytes([whole[turned] ^ 1]) + whole[turned + 1 :])
    ingest(str(home), lake)
    damaged = log_rows(lake)
    file.write_bytes(whole)
    assert ingest(str(home), lake).files_read == 0
    assert log_rows(lake) == damaged
    ingest(str(home), tmp_path / "another")
    assert log_rows(tmp_path / "another") != damaged


@pytest.mark.parametrize("broken", [b"", b"[]", b"{", b'{"version": 2}', b'{"version":1,"clusterID":"fleet-a"}'])
def test_an_archive_whose_memory_is_none_proves_nothing(broken: bytes, tmp_path: Path) -> None:
    home, lake = tmp_path / "archive", tmp_path / "lake"
    archive(home, 8)
    (home / FILE).write_bytes(broken)
    assert ingest(str(home), lake).rows["records"] == 12, "the log is read all the same"
    assert committed(lake) == 0


def test_nor_does_one_of_another_cluster(tmp_path: Path) -> None:
    archive(tmp_path / "archive", 8, cluster="fleet-b")
    ingest(str(tmp_path / "archive"), tmp_path / "lake")
    assert committed(tmp_path / "lake") == 0


def test_a_finding_has_one_name_wherever_it_is_mounted_and_whatever_is_said_of_it() -> None:
    moved = AuditFinding("c", "gap", 1, "d", "/srv/two/0.log", 7, 9, "offsets 9 to 30 are missing")
    assert name_of(moved) == name_of(GAP)
    assert name_of(AuditFinding("c", "gap", 1, "d", "/mnt/one/0.log", 7, 10, GAP.detail)) != name_of(GAP)


@pytest.mark.parametrize("count", [0, 1, 10, 99, 5000])
def test_a_summary_is_never_cut_however_much_was_found(count: int) -> None:
    notes = [AuditFinding("c", "torn tail", 1, "d", "f", 1, each, "x") for each in range(count)]
    errors = [AuditFinding("c", "gap", 1, "d", "f", 1, each, "\N{SNOWMAN} " * 500) for each in range(count)]
    line = summary([*errors, *notes], {f"cluster-{each:015d}": 2**62 for each in range(count)}, 1.5)
    assert len(line.encode()) <= LIMIT, "or Kubernetes cuts it, and it is no JSON"
    told = json.loads(line)
    assert told["counts"] == {"error": count, "warning": 0, "note": count}
    assert (len(told["names"]), told["unnamed"]) == (min(count, MAX_NAMED), max(0, count - MAX_NAMED))
    assert min(count, 1) <= len(told["worst"]) <= MAX_WORST
    assert [each["name"] for each in told["worst"]] == told["names"][: len(told["worst"])]
    assert all(len(each["detail"]) <= MAX_DETAIL for each in told["worst"])
