"""Every directory that Java's controllers left has promises that are as new as its log: ours may refuse
what has not.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from controller_runtime.storage.consistency import check_same_moment
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import load_quorum_state
from support.golden import GOLDEN

pytestmark = pytest.mark.conformance

DIRECTORIES = sorted(path.parent for path in GOLDEN.rglob("quorum-state"))


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_javas_election_state_is_as_new_as_its_log(directory: Path, tmp_path: Path) -> None:
    copy = str(tmp_path / "log")
    shutil.copytree(directory, copy)
    log, state = MetadataLog.open(OsFileSystem(), copy), load_quorum_state(OsFileSystem(), copy)
    check_same_moment(log, state)
    with pytest.raises(CorruptFile, match="quorum-state: it is missing"):
        check_same_moment(log, None)
