"""A voter set stays in force though its record was cut from the log (RCF-11). Zeebe's Raft did not roll its
configuration back.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.raft.voter_set import VoterHistory

SOURCE = "camunda/camunda#57393"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def truncate(self: VoterHistory, end_offset: Offset) -> None: ...

    patch.setattr(VoterHistory, "truncate", truncate)
