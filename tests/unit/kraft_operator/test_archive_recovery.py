"""RecoverQuorum with an archive: it is a copy like a broker's, and the quorum is made of it when every disk is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.actions import RunHelper
from kraft_operator.api import names
from kraft_operator.observed import Claim, Observed
from kraft_operator.operations.recovery import Stage
from kraft_operator.plugin.recover import screen
from storage_guard.copies import CopyReport
from storage_guard.facts import DirectoryIdentity, LogEnd, VolumeFacts
from support.operator_model.world import Disk, LiveClaim, World

pytestmark = pytest.mark.unit

CLAIM = "archive-c-archive-0"
VOLUME = "pv-archive"


class Archived(World):
    """With an archive whose claim is seen, and whose disk helpers may read."""

    def archive(self, cluster_id: str, end: int) -> None:
        log_end = LogEnd(1, end)
        identity = DirectoryIdentity(cluster_id, names.ARCHIVE_NODE, "archive-directory")
        self.disks[VOLUME] = Disk(VOLUME, VolumeFacts(identity, None, log_end))

    def observed(self) -> Observed:
        claim = Claim(CLAIM, "archive-uid", names.ARCHIVE_NODE, "", "", VOLUME)
        return replace(super().observed(), archive_claim=claim if self.operations else None)

    def _helped(self, task: RunHelper) -> CopyReport:
        self.claims[CLAIM] = LiveClaim("archive-uid", VOLUME)
        try:
            return super()._helped(task)
        finally:
            del self.claims[CLAIM]


def lost(*node_ids: int, cluster_id: str = "", short: int = 0) -> Archived:
    world = Archived(archive={"storage": {"size": "1Gi"}})
    world.settle()
    world.write_metadata()
    world.write_metadata()
    for _ in range(3):
        world.kubelet()
    assert world.ledger is not None
    world.archive(cluster_id or world.ledger.cluster_id, world.acknowledged - short)
    for node_id in node_ids:
        world.delete_claim(node_id)
    for _ in range(6):
        world.reconcile()
        world.kubelet()
    world.ask("r", "RecoverQuorum")
    for _ in range(12):
        world.reconcile()
        world.kubelet()
    return world


def verdict(world: Archived) -> dict[str, object]:
    status = world.operations["r"]["status"]
    assert isinstance(status, dict)
    return dict(status["verdict"])


def test_with_every_disk_gone_the_quorum_is_made_of_the_archive() -> None:
    world = lost(0, 1, 2, 100, 101)
    found = verdict(world)
    assert found["seed"] == names.ARCHIVE_NODE
    text = "\n".join(screen(world.operations["r"]))
    assert "archive" in text.splitlines()[3]
    archive = world.children["StatefulSet", "c-archive"].live
    assert archive["spec"]["replicas"] == 0, "nobody writes while it is read"
    end = world.disks[VOLUME].facts.log_end
    world.trust("r", str(found["hash"]))
    for _ in range(80):
        world.reconcile()
        world.kubelet()
    assert not world.broken
    ledger, status = world.ledger, world.operations["r"]["status"]
    assert ledger is not None
    assert isinstance(status, dict)
    assert (status["phase"], ledger.generation) == ("Succeeded", 2)
    assert "the archive's copy" in status["proof"]
    assert len(world.voters) == 3
    assert world.disks[VOLUME].facts.log_end == end, "the archive itself is only read"
    assert ledger.recovery is None or ledger.recovery.stage is Stage.REJOIN
    after = world.children["StatefulSet", "c-archive"].live
    assert after["spec"]["replicas"] == 1
    assert "2.0" in after["spec"]["template"]["spec"]["containers"][0]["args"], "another history, another beginning"


def test_a_disk_that_is_left_and_reaches_further_is_the_seed_and_the_archive_a_witness() -> None:
    world = lost(0, 1, short=1)
    found = verdict(world)
    copies = found["copies"]
    assert isinstance(copies, list)
    assert found["seed"] == 2
    assert {each["nodeID"]: each["role"] for each in copies}[names.ARCHIVE_NODE] == "Broker"


def test_an_archive_of_another_cluster_is_no_copy() -> None:
    found = verdict(lost(0, 1, cluster_id="OtherOtherOtherOtherOt"))
    copies = found["copies"]
    assert isinstance(copies, list)
    assert names.ARCHIVE_NODE not in {each["nodeID"] for each in copies}
