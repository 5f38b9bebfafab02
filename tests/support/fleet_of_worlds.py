"""Many clusters behind one API: every key is a world of its own, and one reconciler looks after all of them.

The worlds are copies of one that is ready, and each takes itself for the only one: their names for themselves are the same, only the keys differ.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from controller_runtime.identifiers import Endpoint
from kraft_operator.events import Recorder
from kraft_operator.keys import Key
from kraft_operator.lease import Term
from kraft_operator.metrics import Metrics
from kraft_operator.observed import Brokers, Quorum
from kraft_operator.quorum import Addresses
from kraft_operator.reconcile import Reconciler
from kraft_operator.settings import Settings
from support.operator_world import PASS_SECONDS, World
from support.world_api import WorldApi
from support.world_runs import Held, Lease, Run


class Fleet:
    """Quacks as `kube.Gateway` and as the probe; a call goes to the world whose cluster is being looked at."""

    def __init__(self, count: int) -> None:
        self.keys = tuple(Key(f"n{number}", "c") for number in range(count))
        first = Run(WorldApi(World()))
        first.settle()
        self.apis = {key: copy.deepcopy(first.api) for key in self.keys}
        self.now = first.now
        self.current = self.keys[0]
        holder = Held(Lease("a", 1), Term("a", 1))
        this: Any = self
        self.reconciler = Reconciler(
            this,
            this,
            holder,
            Settings("a", "operators"),
            Metrics(),
            first.world.draw,
            Recorder(this, "a"),
            lambda: self.now,
        )

    def reconcile(self, key: Key) -> None:
        self.current = key
        self.reconciler.reconcile(key)

    def pass_time(self) -> None:
        """Kubelets and logs go on, everywhere."""
        for api in self.apis.values():
            api.world.kubelet()
            api.world.write_metadata()
        self.now += PASS_SECONDS

    def settle(self, rounds: int = 40) -> None:
        """Until a whole round writes nothing."""
        for _ in range(rounds):
            before = self.writes()
            for key in self.keys:
                self.reconcile(key)
            self.pass_time()
            if self.writes() == before and all(self.ready(key) for key in self.keys):
                return
        raise AssertionError("the clusters do not come to rest")

    def writes(self) -> int:
        return sum(len(api.writes) for api in self.apis.values())

    def ready(self, key: Key) -> bool:
        conditions = (self.apis[key].resource.get("status") or {}).get("conditions") or ()
        return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)

    def look(self, addresses: Addresses) -> tuple[Quorum, Brokers]:
        return self.apis[self.current].look(addresses)

    def changes(self, controllers: Collection[Endpoint]) -> WorldApi:
        return self.apis[self.current]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.apis[self.current], name)
