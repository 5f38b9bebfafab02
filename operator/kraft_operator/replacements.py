"""The account of the replacements that this operator began, kept on its Lease.

The Lease is the one object that every installation may read and write, whichever namespaces it watches, and only its
holder writes: so the account is as old as the operator, survives its death, and is never two. An entry is written
before the voter is removed: who dies in between finds it and goes on. It is read once, when it is needed first; from
then on this process is the only one that changes it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from kraft_operator.api import names
from kraft_operator.kube import LEASE, Conflict, Gateway, Object
from kraft_operator.lease import LeaseLost, Term
from kraft_operator.plan.brake import NO_LIMIT, BadAccount, Begun, Brake, parse, render

logger: Final = logging.getLogger("kraft_operator")
ANNOTATION: Final = f"{names.GROUP}/replacements"
TRIES: Final = 5
"""The Lease is renewed all the while: a write may meet a renewal."""


@dataclass(slots=True)
class LeaseAccount:
    kube: Gateway
    namespace: str
    name: str
    limit: int
    clock: Callable[[], float] = time.time
    _known: tuple[Begun, ...] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def brake(self) -> Brake:
        if not self.limit:
            return NO_LIMIT
        with self._lock:
            if self._known is None:
                self._known = _read(self.kube.get(LEASE, self.namespace, self.name))
            return Brake(self.limit, self._known, self.clock())

    def begin(self, what: Begun, term: Term, timeout: float) -> bool:
        """Write it down, at this time; False when the brake is closed by now. Raises LeaseLost when somebody else holds
        the Lease.
        """
        if not self.limit:
            return True
        with self._lock:
            for left in reversed(range(TRIES)):
                live = self.kube.get(LEASE, self.namespace, self.name)
                spec = live.get("spec") or {}
                if (spec.get("holderIdentity"), spec.get("leaseTransitions")) != (term.holder, term.transitions):
                    raise LeaseLost("another holder keeps the account of replacements")
                brake = Brake(self.limit, _read(live), self.clock())
                self._known = brake.recent
                if brake.knows(*what.key):
                    return True
                if not brake.gate(*what.key).open:
                    return False
                begun = (*brake.recent, replace(what, at=brake.now))
                marks = {**(live["metadata"].get("annotations") or {}), ANNOTATION: render(begun)}
                try:
                    self.kube.replace(LEASE, {**live, "metadata": {**live["metadata"], "annotations": marks}}, timeout)
                except Conflict:
                    if not left:
                        raise
                    continue
                self._known = begun
                return True
        raise AssertionError("unreachable: the last try returns or raises")


def _read(lease: Object) -> tuple[Begun, ...]:
    """What a person has broken counts as nothing: it is replaced by the next entry."""
    try:
        return parse((lease["metadata"].get("annotations") or {}).get(ANNOTATION, ""))
    except BadAccount as error:
        logger.warning(
            "annotation %s of the Lease is no account of replacements and counts as none: %s", ANNOTATION, error
        )
        return ()
