"""What stands between two operators: a Lease that lasts long enough, and the ledger that was planned upon."""

from __future__ import annotations

from typing import Protocol

from kraft_operator.lease import LeaseLost, Term
from kraft_operator.ledger import JournaledStep


class FenceLost(Exception):
    """Another operator wrote the ledger: this process may not act any more."""


class Stale(Exception):
    """What a step was planned for is not there any more; the next pass plans anew."""


class Holder(Protocol):
    def require(self, seconds: float) -> Term: ...

    def still_holds(self) -> bool:
        """Whether the Lease, read now, names this very term."""
        ...


def still_holds(holder: Holder, step: JournaledStep, seconds: float) -> None:
    """Whether the term that journaled the step has time for it."""
    term = holder.require(seconds)
    if (term.holder, term.transitions) != (step.holder, step.transitions):
        raise LeaseLost(f"the step was journaled by {step.holder} in term {step.transitions}, this is {term}")
