"""Who acts: one holder of a `coordination.k8s.io` Lease; who loses it exits.

client-go's protocol: a candidate watches the record and takes it over only after it has seen it unchanged for a whole
lease duration on its own clock, so clocks need not agree. A holder renews every retry period and gives up when it could
not for the renew deadline, which is shorter than the duration. The Lease chooses who acts; it is not the fence (a
frozen process does not notice): that is the ledger. `remaining` tells how long a step may still take; it counts from
before the renewal was sent, so it errs on the safe side.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kraft_operator.kube import LEASE, Conflict, Gateway, KubeError
from kraft_operator.settings import LeaseTimes


class LeaseLost(Exception):
    """Somebody else may act now. The process must end."""


class LeaseRunsOut(Exception):
    """The Lease is ours, but a step of this length does not fit into what is left: try again after its renewal."""


@dataclass(frozen=True, slots=True)
class Term:
    """One uninterrupted holding of the Lease."""

    holder: str
    transitions: int


class Keeper:
    """Acquires, renews in a thread of its own, and tells how much time is left."""

    def __init__(
        self,
        kube: Gateway,
        place: tuple[str, str],
        identity: str,
        times: LeaseTimes,
        lost: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`place` is the namespace and name of the Lease; `lost` is called from the keeper's thread."""
        namespace, name = place
        self._kube, self._namespace, self._name, self._identity = kube, namespace, name, identity
        self._times, self._lost, self._clock = times, lost, clock
        self._seen: tuple[object, ...] = ()
        self._seen_at = clock()
        self._renewed_at = float("-inf")
        self._term: Term | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    @property
    def term(self) -> Term | None:
        return self._term

    def remaining(self) -> float:
        """Seconds for which nobody else can have taken over; negative when the Lease is not ours."""
        return self._renewed_at + self._times.renew_deadline - self._clock() if self._term else -1.0

    def require(self, seconds: float) -> Term:
        """The current term, if a step of this length still fits into it. Raises LeaseLost, LeaseRunsOut."""
        term, remaining = self._term, self.remaining()
        if term is None or remaining <= 0:
            raise LeaseLost(f"the lease ran out {-remaining:.1f} s ago")
        if remaining < seconds:
            raise LeaseRunsOut(f"{remaining:.1f} s of the lease are left, {seconds:.1f} s are needed")
        return term

    def still_holds(self) -> bool:
        """Whether the Lease, read now, names this very term. Raises KubeError."""
        term = self._term
        return term is not None and self._still_mine(term.transitions)

    def acquire(self) -> Term:
        """Wait until the Lease is ours, then keep it."""
        while not self._stop.is_set():
            try:
                if self._try():
                    assert self._term is not None
                    self._thread.start()
                    return self._term
            except KubeError as error:
                print(f"lease: {error}", flush=True)
            self._stop.wait(self._times.retry_period)
        raise LeaseLost("stopped while waiting for the lease")

    def release(self) -> None:
        """Let the next one in at once. Only after all work has ended."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(self._times.renew_deadline)
        if self._term is None:
            return
        self._term = None
        try:
            live = self._kube.get(LEASE, self._namespace, self._name)
            if live["spec"].get("holderIdentity") == self._identity:
                live["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                self._kube.replace(LEASE, live)
        except KubeError as error:
            print(f"lease: not released: {error}", flush=True)

    def _keep(self) -> None:
        while not self._stop.wait(self._times.retry_period):
            why = "another holder"
            try:
                if self._try():
                    continue
            except KubeError as error:
                why = str(error)
                if self.remaining() > 0:
                    continue
            self._term = None
            self._lost(why)
            return

    def _try(self) -> bool:
        """One attempt to acquire or renew; False when the Lease is another's."""
        started = self._clock()
        live = self._kube.find(LEASE, self._namespace, self._name)
        if live is None:
            body = {
                "apiVersion": LEASE.api,
                "kind": LEASE.kind,
                "metadata": {"name": self._name, "namespace": self._namespace},
            }
            return self._write(
                lambda: self._kube.create(LEASE, self._namespace, body | {"spec": self._record(0, True)}), started, 0
            )
        spec = live.get("spec") or {}
        record = (spec.get("holderIdentity"), spec.get("renewTime"), spec.get("leaseTransitions"))
        if record != self._seen:
            self._seen, self._seen_at = record, started
        transitions = int(spec.get("leaseTransitions") or 0)
        mine = spec.get("holderIdentity") == self._identity
        if mine and self._term is not None and self._term.transitions == transitions:
            live["spec"] = spec | self._record(transitions, False)
            return self._write(lambda: self._kube.replace(LEASE, live), started, transitions)
        if self._term is not None or not self._expired(spec, started):
            return False
        live["spec"] = spec | self._record(transitions + 1, True)
        return self._write(lambda: self._kube.replace(LEASE, live), started, transitions + 1)

    def _expired(self, spec: dict[str, Any], now: float) -> bool:
        if not spec.get("holderIdentity"):
            return True
        return now - self._seen_at > float(spec.get("leaseDurationSeconds") or self._times.duration)

    def _write(self, call: Callable[[], object], started: float, transitions: int) -> bool:
        try:
            call()
        except Conflict:
            return False if self._term is None else self._still_mine(transitions)
        self._renewed_at = started
        self._term = Term(self._identity, transitions)
        return True

    def _still_mine(self, transitions: int) -> bool:
        """A conflict on renewal: somebody touched the object; ours as long as the record still names this term."""
        spec = self._kube.get(LEASE, self._namespace, self._name).get("spec") or {}
        return bool(spec.get("holderIdentity") == self._identity and spec.get("leaseTransitions") == transitions)

    def _record(self, transitions: int, acquiring: bool) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        record: dict[str, Any] = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._times.duration) or 1,
            "renewTime": now,
            "leaseTransitions": transitions,
        }
        return record | {"acquireTime": now} if acquiring else record
