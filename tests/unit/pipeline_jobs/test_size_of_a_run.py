"""What Java a `run` is made for is decided by how much there is to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metadata_pipeline.jobs.ingest import ALONE_BYTES
from metadata_pipeline.jobs.size import BRIEF_BYTES, Size, size_of_fleet
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.session import settings
from metadata_pipeline.spark_classes import QUICK
from support.pipeline.logs import log_directory


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (ALONE_BYTES, Size(small=True, brief=True)),
        (ALONE_BYTES + 1, Size(small=False, brief=True)),
        (BRIEF_BYTES, Size(small=False, brief=True)),
        (BRIEF_BYTES + 1, Size(small=False, brief=False)),
    ],
)
def test_logs_of_so_many_bytes(size: int, expected: Size, tmp_path: Path) -> None:
    os.truncate(log_directory(tmp_path, b""), size)
    assert size_of_fleet([str(tmp_path)], LakeState()) == expected
    options = settings("local[*]", {}, small=expected.small, brief=expected.brief)
    assert (QUICK in options["spark.driver.extraJavaOptions"]) == expected.brief
    assert ("NO_CODEGEN" in options.values()) == expected.small


def test_what_cannot_be_listed_is_told_by_the_ingest(tmp_path: Path) -> None:
    assert size_of_fleet([str(tmp_path / "nowhere")], LakeState()) == Size(small=False, brief=False)
