"""A disk of Java's whose quorum has static voters is told from one with dynamic ones, by its log and not by
`quorum-state`, which goes on saying `data_version` 0 after an upgrade until there is another election.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller_runtime.storage.filesystem import OsFileSystem
from storage_guard.facts import LedgerFacts, PodFacts, VolumeFacts
from storage_guard.formats import DiskVerdict, Identity
from storage_guard.judge import judge
from storage_guard.volume import Volume
from support.golden import GOLDEN, copy_of

pytestmark = pytest.mark.conformance

UPGRADED = GOLDEN / "static-voters"
BEFORE = UPGRADED / "before-upgrade"
CONTROLLERS = [f"controller-{each}" for each in (1, 2, 3)]


def read(directory: Path, folder: Path) -> VolumeFacts:
    return Volume(OsFileSystem(), copy_of(directory, folder / "volume" / "log")).read()


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_disk_from_before_the_upgrade_is_refused_as_it_is(name: str, tmp_path: Path) -> None:
    facts = read(BEFORE / name, tmp_path)
    assert facts.problem is None
    assert facts.identity is not None
    assert facts.static_voters
    cluster, node_id, directory = facts.identity.cluster_id, facts.identity.node_id, facts.identity.directory_id
    pod = PodFacts("pod-1", node_id, cluster, is_controller=True)
    for known in (None, Identity(cluster, node_id, str(directory), None)):
        found = judge(facts, LedgerFacts(known), pod)
        assert (found.verdict, found.reason) == (DiskVerdict.FOREIGN, "StaticVoters")


@pytest.mark.parametrize("name", CONTROLLERS)
def test_the_same_disk_after_the_upgrade_is_taken(name: str, tmp_path: Path) -> None:
    state = json.loads((UPGRADED / name / "__cluster_metadata-0" / "quorum-state").read_text())
    assert state["data_version"] == 0, "the trap is there"
    assert not read(UPGRADED / name, tmp_path).static_voters


@pytest.mark.parametrize(
    "directory", ["cluster/controller-1", "cluster/controller-4", "format/initial-controllers/node-1/data"]
)
def test_a_disk_of_dynamic_voters_or_without_a_record_is_none_of_static_ones(directory: str, tmp_path: Path) -> None:
    facts = read(GOLDEN / directory, tmp_path)
    assert facts.identity is not None
    assert not facts.static_voters
