"""Our functions and the command line on Spark Connect, by a client that has no Java beside it; see
`support.pipeline.connect_run`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_pipeline.jobs.ingest import ingest
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.tables.queries import TABLES
from support.pipeline.canaries import canaries_below, canaries_in
from support.pipeline.connect_run import ConnectRun, Running

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def connected(connect_run: Running) -> ConnectRun:
    try:
        return connect_run.result()
    except PipelineError as missing:
        pytest.skip(str(missing))


def test_every_job_works_without_a_jvm_beside_it_and_tells_no_secret(connected: ConnectRun, tmp_path: Path) -> None:
    """Session functions that notebooks use, the stream, all jobs, and at last the command line, whose lines come before
    those of the notebook.
    """
    assert connected.status == 0, connected.err[-6000:]
    *lines, last = connected.out.splitlines()
    assert [json.loads(line)["kind"] for line in lines if '"error"' in line], "the command told no finding"
    here = ingest(str(connected.logs), tmp_path / "here").rows
    log, fault = connected.log, connected.fault
    assert json.loads(last) == {
        "by itself": 6,
        "module": "pyspark.sql.connect.session",
        "batches": [[node, len(log.batches)] for node in (1, 2, 3)],
        "streamed": here["records"],
        "ingested": here,
        "again": None,
        "tables": sorted([*TABLES, "provisional", "stretches"]),
        "end": log.end,
        "sql": ["common", "late"],
        "committed": log.end - 1,
        "as of": ["common"],
        "errors": [["broken", "damaged epoch", fault.node, fault.position]],
        "difference": ["topics     added    late"],
        "report": ["broken", "fleet-a", "secrets"],
        "page": 3,
        "command": 1,
    }
    assert canaries_below(connected.lake) == canaries_below(connected.lake.with_name("streamed")) == []
    assert canaries_in((connected.out + connected.err + connected.server).encode()) == []
