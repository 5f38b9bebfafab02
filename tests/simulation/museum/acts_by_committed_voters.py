"""A node acts by the newest committed voters instead of the newest ones in its log (RCF-11; Raft paper 6): a committed
set may be two changes behind.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.voter_set import VoterSet

SOURCE = "hashicorp/raft#117"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def voters(self: Quorum) -> VoterSet:
        first = self.history.sets[0][1] if self.history.sets else self.history.static
        committed = [one for offset, one in self.history.sets if offset < (self.high_watermark or 0)]
        return committed[-1] if committed else first

    patch.setattr(Quorum, "voters", property(voters))
