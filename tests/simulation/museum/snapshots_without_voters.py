"""A node that loads a snapshot does not take the voters from it (SNP-15): it goes on with those of its configuration,
or none.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.raft import snapshot_transfer
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.voter_set import VoterSet

SOURCE = "class of defect: configuration missing from the snapshot (thesis 5.1)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = snapshot_transfer.on_snapshot_loaded

    def loaded(q: Quorum, snapshot_id: OffsetAndEpoch, kraft_version: int, voters: VoterSet | None) -> None:
        original(q, snapshot_id, kraft_version, None)

    patch.setattr(snapshot_transfer, "on_snapshot_loaded", loaded)
