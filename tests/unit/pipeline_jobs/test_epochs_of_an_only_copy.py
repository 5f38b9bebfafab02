"""What an audit says of a cluster of which there is one copy, one of whose batches has a damaged epoch: that, and not
that records are lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_pipeline.audit.copies import judge
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.tables.committed import clusters
from support.disks.log_fleet import Disk, History

EPOCH_AT = 12


def told(disk: Disk, lake: Path) -> list[tuple[str, int | None, int | None, str]]:
    ingest(str(disk.home), lake)
    state = lake_state(lake)
    found = [it for it in judge(state, clusters(state)) if it.severity == "error"]
    return [(it.kind, it.node, it.offset, it.detail) for it in found]


@pytest.fixture
def log() -> History:
    made = History("alone", voters=(1,))
    made.lead(1)
    made.idle(20)
    return made


def test_an_epoch_that_is_not_believed_is_told_as_what_it_is(log: History, tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk", "alone", 1)
    disk.write(log)
    damaged = log.batches[10]
    data = bytearray(disk.segment(0).read_bytes())
    at = sum(len(it.data) for it in log.batches[:10]) + EPOCH_AT
    data[at : at + 4] = (77).to_bytes(4, "big")
    disk.segment(0).write_bytes(data)
    said = f"offsets {damaged.base} to {damaged.base} are whole, of epoch 77, which the log contradicts"
    found = told(disk, tmp_path / "lake")
    assert [it[:3] for it in found] == [("epoch not believed", 1, damaged.base)]
    assert found[0][3].startswith(said)


def test_what_is_damaged_beside_it_is_lost(log: History, tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk", "alone", 1)
    disk.write(log)
    data = bytearray(disk.segment(0).read_bytes())
    begins = [sum(len(it.data) for it in log.batches[:number]) for number in range(len(log.batches))]
    data[begins[10] + EPOCH_AT : begins[10] + EPOCH_AT + 4] = (77).to_bytes(4, "big")
    data[begins[11] + len(log.batches[11].data) - 2] ^= 1
    disk.segment(0).write_bytes(data)
    assert sorted((it[:3] for it in told(disk, tmp_path / "lake")), key=str) == [
        ("epoch not believed", 1, log.batches[10].base), ("lost records", None, log.batches[11].base),
    ]  # fmt: skip
