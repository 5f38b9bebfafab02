"""A leader that removed itself restarts with the only copy of the new voters and does not stand, because it is not
among them. With two voters the other one needs its vote and has the shorter log: nobody leads for ever. The thesis says
that such a server must stand, without a vote of its own.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft.quorum import Quorum

SOURCE = "Ongaro's thesis 4.2.2; Quorate, issue 4 (seed 6023)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Quorum, "may_stand", property(lambda self: self.is_voter))
