"""The next Fetch says more than the disk holds (FET-15). Jepsen's lazyfs runs lost committed writes of etcd that had
not been synced.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.raft.config import RaftConfig
from support.simulation import composition
from support.simulation.machine import Machine

SOURCE = "etcd-io/etcd#14143"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = composition.raft_config

    def raft_config(machine: Machine) -> RaftConfig:
        return replace(original(machine), durable_fetch=False)

    patch.setattr(composition, "raft_config", raft_config)
