"""A world in which a new cluster is asked for from the archive of another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kraft_operator.actions import RunHelper
from kraft_operator.api import names
from kraft_operator.ledger import Formation
from kraft_operator.manifests.helpers import LABEL_HELPER
from kraft_operator.observed import Claim, Observed
from storage_guard.copies import Beyond, CopyReport
from storage_guard.facts import DirectoryIdentity, LogEnd, VolumeFacts
from support.operator_model.world import Disk, LiveClaim, World

CLAIM, VOLUME, OLD = "archive-old-archive-0", "pv-archive", "OldOldOldOldOldOldOldO"
ASKED: dict[str, Any] = {"claimName": CLAIM, "clusterID": OLD, "offset": 400}
END, CUT = 512, 399


class Drill(World):
    """With the archive of another cluster, which is asked for up to offset 400."""

    refusal = ""
    bound = VOLUME

    def __init__(self, asked: dict[str, Any] = ASKED) -> None:
        super().__init__(bootstrap={"fromArchive": asked})
        identity = DirectoryIdentity(OLD, names.ARCHIVE_NODE, "archive-directory")
        self.disks[VOLUME] = Disk(VOLUME, VolumeFacts(identity, None, LogEnd(7, CUT)))

    def observed(self) -> Observed:
        formed = self.ledger is not None and self.ledger.formation is Formation.FORMED
        claim = Claim(CLAIM, "archive-uid", names.ARCHIVE_NODE, "", "", self.bound)
        return replace(super().observed(), archive_claim=None if formed else claim, archive_on="k1")

    def _helped(self, task: RunHelper) -> CopyReport:
        self.claims[CLAIM] = LiveClaim("archive-uid", VOLUME)
        try:
            found = super()._helped(task)
        finally:
            del self.claims[CLAIM]
        values = {each["name"]: each.get("value", "") for each in task.manifest["spec"]["containers"][0]["env"]}
        if "POINT" not in values:
            assert task.manifest["metadata"]["labels"][LABEL_HELPER] != "recover" or "CUT" in values
            return found
        assert (values["POINT"], values["ARCHIVE_OF"]) == ("offset:400", OLD)
        return replace(found, beyond=Beyond(END, ("late",), ("gone",), 3))

    def help(self) -> bool:
        names_of = list(self.tasks)
        moved = super().help()
        for name in names_of if self.refusal else ():
            self.helpers[name] = replace(self.helpers[name], report=None, failed=True, line=self.refusal)
        return moved
