"""The leader counts its own records before they are durable (FET-15). etcd applied entries before they were in the
write-ahead log; after a crash one member knew more than the log.
"""

from __future__ import annotations

import pytest

from controller_runtime.raft import replication
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Leader

SOURCE = "etcd-io/etcd#10508"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = replication.advance_leader

    def advance(q: Quorum, leader: Leader) -> None:
        honest, q.log.flushed_offset = q.log.flushed_offset, q.log.end_offset
        original(q, leader)
        q.log.flushed_offset = honest

    patch.setattr(replication, "advance_leader", advance)
