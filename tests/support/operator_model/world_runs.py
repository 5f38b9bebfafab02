"""Runs the real reconciler over `world_api`, one or several processes of it, through deaths, refusals and lost answers,
until all is quiet.

A process that dies, or that finds its fence or Lease gone, is followed by another one in the next term of the Lease.
Time passes by the pass.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeVar

from kraft_operator.api import names
from kraft_operator.events import Recorder
from kraft_operator.fence import FenceLost, Stale
from kraft_operator.keys import Key
from kraft_operator.kube import Conflict, KubeError, TooManyRequests, Unreachable
from kraft_operator.lease import LeaseLost, LeaseRunsOut, Term
from kraft_operator.metrics import Metrics
from kraft_operator.quorum import AdminFailed
from kraft_operator.reconcile import Reconciler
from kraft_operator.replacements import LeaseAccount
from kraft_operator.settings import Settings
from support.operator_model.watches import Watches
from support.operator_model.world import PASS_SECONDS, World
from support.operator_model.world_api import Died, Faults, WorldApi

T = TypeVar("T")
KEY: Final = Key("n", "c")
QUIET_PASSES: Final = 3


@dataclass(slots=True)
class Lease:
    """The Lease as its record says: one holder in one term."""

    holder: str = "a"
    transitions: int = 1


@dataclass(slots=True)
class Held:
    """What one process believes of the Lease; it counts as held while the record names this term."""

    lease: Lease
    term: Term

    def require(self, seconds: float) -> Term:
        if not self.still_holds():
            raise LeaseLost("another holder")
        return self.term

    def still_holds(self) -> bool:
        return (self.lease.holder, self.lease.transitions) == (self.term.holder, self.term.transitions)


@dataclass(slots=True)
class Run:
    """A world, its API, and the operator's process of the moment."""

    api: WorldApi
    lease: Lease = field(default_factory=Lease)
    now: float = 0.0
    deaths: int = 0
    key: Key = KEY
    limit: int = 100
    """Of replacements begun within an hour."""
    _process: Reconciler | None = None
    _watches: Watches | None = None
    """A step behind: what the index has is always old."""

    @property
    def world(self) -> World:
        return self.api.world

    def process(self) -> Reconciler:
        """A new process: it remembers nothing, and the Lease is its own."""
        self.lease.transitions += 1
        self.lease.holder = f"operator-{self.lease.transitions}"
        holder = Held(self.lease, Term(self.lease.holder, self.lease.transitions))
        api: Any = self.api
        record = {"holderIdentity": self.lease.holder, "leaseTransitions": self.lease.transitions}
        self.api.hold_lease(record)
        settings = Settings(self.lease.holder, "operators")
        account = LeaseAccount(api, "operators", settings.lease_name, self.limit, lambda: self.now)
        recorder = Recorder(api, self.lease.holder)
        found = Reconciler(api, api, holder, account, settings, Metrics(), self.world.draw, recorder, lambda: self.now)
        self._watches = Watches(self.api, found.index, late=True)
        self._watches.start()
        return found

    def step(self) -> bool:
        """One pass of the operator; whether it came to its end."""
        self._process = self._process or self.process()
        if self._watches is not None:
            self._watches.bring()
        try:
            self._process.reconcile(self.key)
        except (Died, LeaseLost, FenceLost):
            self.deaths += 1
            self._process = None
            return False
        except (KubeError, AdminFailed, Stale, LeaseRunsOut):
            return False  # the queue brings the key back later
        return True

    def tick(self) -> bool:
        """A pass, a move of every node's kubelet, an entry in the log; whether anything moved."""
        before = len(self.api.writes)
        ended = self.step()
        moved = self.world.kubelet()
        self.world.write_metadata()
        self.now += PASS_SECONDS
        assert not self.world.broken, self.world.broken
        return moved or not ended or len(self.api.writes) > before

    def settle(self, limit: int = 250) -> None:
        quiet = 0
        for _ in range(limit):
            quiet = 0 if self.tick() else quiet + 1
            if quiet >= QUIET_PASSES and not self._process_waits():
                return
        raise AssertionError(f"still moving after {limit} passes: {self.api.writes[-5:]}; {self.condition('Ready')}")

    def _process_waits(self) -> bool:
        """A suspicion has to stand for a while, or the operator looks again soon because something is on its way."""
        return self._process is None or bool(self._process._memories[self.key].suspected and not self._stalled())

    def _stalled(self) -> bool:
        return bool(self.condition("Stalled")["status"] == "True")

    def condition(self, kind: str) -> dict[str, Any]:
        conditions = (self.api.resource.get("status") or {}).get("conditions") or ()
        return next(
            (dict(each) for each in conditions if each["type"] == kind), {"status": "Unknown", "reason": "none"}
        )

    def copied(self, faults: Faults) -> Run:
        """The same world and the same moment, with another process and other faults ahead."""
        api = copy.deepcopy(self.api)
        api.faults = faults
        api.writes.clear()
        api.restarted.clear()
        return Run(api, copy.deepcopy(self.lease), self.now, key=self.key, limit=self.limit)

    def final(self) -> dict[str, object]:
        """What is left when all is quiet, without the names that chance gave: templates, and so revisions, bear the
        cluster's id, which is drawn again where nobody learned of the first one.
        """
        world, ledger = self.world, self.world.ledger
        assert ledger is not None
        made_of = {node: each.made_of for node, each in world.sets.items()}
        return {
            "voters": sorted(world.voters),
            "running": sorted(world.running_voters()),
            "pods": {node: (pod.stage, pod.revision == made_of.get(node)) for node, pod in sorted(world.pods.items())},
            "templates": {
                name: _template(child.live, ledger.cluster_id)
                for (kind, name), child in sorted(world.children.items())
                if kind == "StatefulSet"
            },
            "sets": {node: each.replicas for node, each in sorted(world.sets.items())},
            "classes": {name: each.storage_class for name, each in sorted(world.claims.items())},
            "registered": sorted(world.registered),
            "children": sorted(world.children),
            "formats": sorted((mode, node) for mode, _, node, _ in world.formats),
            "written off": sorted(each.node_id for each in ledger.written_off),
            "retired": sorted(each.node_id for each in ledger.entries if each.retired),
            "grants under way": [step.node_id for step in ledger.journal if step.kind.value in ("Grant", "Unregister")],
            "restarted": sorted(self.api.restarted),
            "ready": (self.condition("Ready")["status"], self.condition("Ready")["reason"]),
        }


def _template(live: Mapping[str, Any], cluster_id: str) -> str:
    """Of a set's pods, without its own digest."""
    template = copy.deepcopy(live["spec"]["template"])
    template["metadata"]["annotations"].pop(names.ANNOTATION_TEMPLATE, None)
    return json.dumps(template, sort_keys=True).replace(cluster_id, "CLUSTER")


CHANGES_OF_THE_QUORUM: Final = ("remove voter", "add voter", "unregister")


@dataclass(slots=True)
class Weather(Faults):
    """While it is bad, calls fail as an API server under load and a broken network make them fail, and reads are now
    and then old.
    """

    chance: random.Random
    bad: bool = True
    struck: dict[str, int] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)

    def write(self, what: str, call: Callable[[], T]) -> T:
        match self._draw("conflict", "too many", "error", "not sent", "answer lost"):
            case "answer lost":
                call()
                self._fail(what, Unreachable(0, "the answer was lost"))
            case "not sent":
                self._fail(what, Unreachable(0, "it never arrived"))
            case "conflict":
                self._fail(what, Conflict(409, "somebody was faster"))
            case "too many":
                self._fail(what, TooManyRequests("later", 1.0))
            case "error":
                self._fail(what, KubeError(500, "etcdserver: request timed out"))
            case _:
                pass
        return call()

    def read(self, what: str, call: Callable[[], T]) -> T:
        if (
            what == "look at the quorum"
        ):  # nodes, not the API server; a silent one is an Unknown, which the world draws itself
            return call()
        drawn = self._draw("read error", "old answer")
        if drawn == "read error":
            raise Unreachable(0, what)
        found, older = call(), self.before.get(what)
        self.before[what] = found
        return older if drawn == "old answer" and older is not None else found

    def _draw(self, *kinds: str) -> str:
        drawn = self.chance.choice(kinds) if self.bad and self.chance.random() < 0.1 else ""
        if drawn:
            self.struck[drawn] = self.struck.get(drawn, 0) + 1
        return drawn

    @staticmethod
    def _fail(what: str, error: KubeError) -> NoReturn:
        if what.startswith(CHANGES_OF_THE_QUORUM):
            raise AdminFailed(f"{what}: {error.message}")
        raise error


@dataclass(slots=True)
class FrozenAt(Faults):
    """The process is frozen within its n-th write and never notices that time passes; `thaw` lets that write go out."""

    number: int
    seen: int = 0
    what: str = ""
    late: Callable[[], object] | None = None

    def write(self, what: str, call: Callable[[], T]) -> T:
        self.seen += 1
        if self.seen == self.number:
            self.what, self.late = what, call
            raise Died(what)
        return call()

    def thaw(self) -> None:
        """What the server thinks of it, the late one never learns: its next look at the Lease ends it."""
        assert self.late is not None
        with suppress(KubeError):
            self.late()


@dataclass(slots=True)
class DeathAt(Faults):
    """The operator dies at its n-th write: right before it, or right after it happened."""

    number: int
    after: bool
    seen: int = 0
    what: str = ""

    def write(self, what: str, call: Callable[[], T]) -> T:
        self.seen += 1
        if self.seen != self.number:
            return call()
        self.what = what
        if self.after:
            call()
        raise Died(what)
