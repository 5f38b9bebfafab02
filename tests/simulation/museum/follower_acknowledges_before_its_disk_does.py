"""The next Fetch says more than the disk holds (FET-15). Jepsen's lazyfs runs lost committed writes of etcd that had
not been synced.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.node.controller_node import NodeConfig
from support.simulation.machine import Machine

SOURCE = "etcd-io/etcd#14143"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = Machine._config

    def config(self: Machine) -> NodeConfig:
        honest = original(self)
        return replace(honest, raft=replace(honest.raft, durable_fetch=False))

    patch.setattr(Machine, "_config", config)
