"""A new follower cuts its log to what it knows to be committed, instead of to where it parts from the leader's
(KIP-101): the leader may have counted what goes.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Epoch, Instant, NodeId
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.voter_set import Listeners

SOURCE = "KIP-101"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = Quorum.become_follower

    def become_follower(self: Quorum, epoch: Epoch, leader_id: NodeId, listeners: Listeners, now: Instant) -> None:
        original(self, epoch, leader_id, listeners, now)
        known = self.high_watermark
        if known is not None and self.log.start_offset < known < self.log.end_offset:
            self.truncate(known)

    patch.setattr(Quorum, "become_follower", become_follower)
