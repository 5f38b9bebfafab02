"""Many clusters behind one API: every key is a world of its own, and one reconciler looks after all of them.

The worlds are copies of one that is ready, and each takes itself for the only one: their names for themselves are the
same, only the keys differ.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import ListenerSecurity
from kraft_operator.api.parse import parse_cluster
from kraft_operator.events import Recorder
from kraft_operator.fence import Stale
from kraft_operator.index import Index
from kraft_operator.keys import Key
from kraft_operator.kube import LEASE, Kind, Object
from kraft_operator.lease import Term
from kraft_operator.metrics import Metrics
from kraft_operator.observed import Brokers, Quorum
from kraft_operator.proofs import Doubt
from kraft_operator.quorum import Addresses
from kraft_operator.reconcile import Reconciler
from kraft_operator.replacements import LeaseAccount
from kraft_operator.settings import Settings
from support.operator_model.watches import Watches
from support.operator_model.world import PASS_SECONDS, World
from support.operator_model.world_api import WorldApi
from support.operator_model.world_runs import KEY as HOME
from support.operator_model.world_runs import Held, Lease, Run


class Indexes:
    """Quacks as `index.Index`: every world has one of its own, because all worlds are in the same namespace."""

    complete = True

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.lists = 0
        self.watches = {key: Watches(api, Index(fleet, lambda: fleet.now)) for key, api in fleet.apis.items()}  # type: ignore[arg-type]
        for key, each in self.watches.items():
            fleet.current = key
            each.start()

    def route_changes(self, key: Key) -> int | None:
        """Nobody watches routes."""
        return None

    def changes(self, key: Key) -> int:
        return self.watches[key].index.changes(HOME)

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        return self.watches[self.fleet.current].index.find(kind, namespace and HOME.namespace, name)

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[Object, ...]:
        self.lists += 1
        return self.watches[self.fleet.current].index.list(kind, namespace and HOME.namespace, selector)


class Fleet:
    """Quacks as `kube.Gateway` and as the probe; a call goes to the world whose cluster is being looked at."""

    def __init__(self, count: int, limit: int = 0) -> None:
        """`limit` is of replacements that are begun within an hour."""
        self.keys = tuple(Key(f"n{number}", "c") for number in range(count))
        first = Run(WorldApi(World()))
        first.settle()
        self.apis = {key: copy.deepcopy(first.api) for key in self.keys}
        for key, api in self.apis.items():
            api.resource["metadata"]["uid"] = f"uid-of-{key.namespace}"
            api.world.cluster = parse_cluster(api.resource)
        self.draw, self.now = first.world.draw, first.now
        self.current = self.keys[0]
        self.limit = limit
        self.lease = Lease("a", 1)
        self.reconciler = self.successor()
        self.indexes: Indexes | None = None

    def watch(self) -> None:
        """From now on the reconciler has an index."""
        self.indexes = Indexes(self)
        self.reconciler.index = self.indexes  # type: ignore[assignment]

    def reads(self) -> int:
        """Of the API server, the lists of watches and resyncs apart."""
        return sum(api.reads for api in self.apis.values())

    def successor(self) -> Reconciler:
        """Another process, in the next term of the Lease: it remembers nothing."""
        self.lease.transitions += 1
        term = Term(self.lease.holder, self.lease.transitions)
        self.home.hold_lease({"holderIdentity": term.holder, "leaseTransitions": term.transitions})
        this: Any = self
        account = LeaseAccount(this, "operators", "kraft-operator", self.limit, lambda: self.now)
        settings, recorder = Settings("a", "operators"), Recorder(this, "a")
        held = Held(self.lease, term)
        return Reconciler(this, this, held, account, settings, Metrics(), self.draw, recorder, lambda: self.now)

    @property
    def home(self) -> WorldApi:
        """Where the operator's own objects are."""
        return self.apis[self.keys[0]]

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        return (self.home if kind is LEASE else self.apis[self.current]).get(kind, namespace, name)

    def rehearse(self, kind: Kind, namespace: str, body: Object) -> None:
        self.apis[self.current].rehearse(kind, namespace, body)

    def replace(self, kind: Kind, body: Object, timeout: float | None = None) -> Object:
        return (self.home if kind is LEASE else self.apis[self.current]).replace(kind, body, timeout)

    def reconcile(self, key: Key) -> None:
        """A pass, as the workers run it: one that found its plan out of date is followed by another one."""
        self.bring(key)
        with suppress(Stale):
            self.reconciler.reconcile(key)

    def bring(self, key: Key) -> None:
        """Turn to a cluster, and bring the index what its watches have seen."""
        if self.indexes is not None:
            self.indexes.watches[key].bring()
        self.current = key

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

    def changes(self, controllers: Collection[Endpoint], security: ListenerSecurity) -> WorldApi:
        return self.apis[self.current]

    def prove(self, asked: Collection[Doubt], security: ListenerSecurity) -> frozenset[str]:
        return self.apis[self.current].prove(asked, security)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.apis[self.current], name)
