"""Makes a failing plan smaller: leaves out faults as long as it still fails (delta debugging, Zeller 1999), the later
halves first.
"""

from __future__ import annotations

from collections.abc import Callable

from simulation.invariants.every import every_invariant
from support.simulation.plan import Plan
from support.simulation.schedule import Schedule


def fails(plan: Plan) -> str | None:
    try:
        Schedule.of(plan, every_invariant()).run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrink(plan: Plan, say: Callable[[str], None]) -> str:
    """The command that replays the smallest failing plan that was found."""
    if fails(plan) is None:
        return f"seed {plan.seed} does not fail"
    dropped: set[int] = set()
    size = max(1, len(plan.faults) // 2)
    while size >= 1:
        left = [n for n in range(len(plan.faults)) if n not in dropped]
        for at in range(0, len(left), size):
            attempt = dropped | set(left[at : at + size])
            reason = fails(plan.without(attempt))
            if reason is not None:
                dropped = attempt
                say(f"{len(plan.faults) - len(dropped)} faults are enough: {reason[:160]}")
        size //= 2
    without = " ".join(str(n) for n in sorted(dropped))
    kept = "\n".join(f"  fault {n}: {fault}" for n, fault in enumerate(plan.faults) if n not in dropped)
    return f"{kept}\nPYTHONPATH=.:tests python -m support.simulation --seed {plan.seed} --trace --without {without}"
