"""A new leader serves before a record of its own epoch is committed: what earlier epochs left in its log is not in its
image yet (FET-21; thesis 6.4).
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Instant, Offset
from controller_runtime.node.quorum.metadata_replica import Leading, MetadataReplica
from controller_runtime.raft import leadership
from controller_runtime.raft.effects import StartLeading
from controller_runtime.raft.quorum import Quorum

SOURCE = "class of defect: leader without a no-op (thesis 6.4)"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = leadership.become_leader

    def become_leader(q: Quorum, now: Instant) -> None:
        original(q, now)
        q.out.append(StartLeading(q.epoch))

    def start(self: MetadataReplica, epoch: Epoch) -> None:
        self.leading = Leading(epoch, Offset(-1))

    patch.setattr(leadership, "become_leader", become_leader)
    patch.setattr(MetadataReplica, "_start_leading", start)
