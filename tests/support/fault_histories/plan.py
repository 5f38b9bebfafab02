"""What befalls whom in a history, and when; drawn from its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CONTROLLER: Final = 1
BROKERS: Final = (11, 12, 13)


class Fault(StrEnum):
    KILL = "kill"
    """kill -9, and a start when it is over."""
    FREEZE = "freeze"
    """SIGSTOP, SIGCONT."""
    CUT = "cut"
    """Nothing comes or goes."""
    CUT_FROM = "cut from"
    """From one other node alone; the third one hears both."""
    FILL = "fill"
    """Its disk takes nothing more."""


_OF_BROKERS: Final = (Fault.KILL, Fault.KILL, Fault.FREEZE, Fault.CUT, Fault.CUT_FROM, Fault.FILL)
_OF_CONTROLLERS: Final = (Fault.KILL, Fault.FREEZE)


@dataclass(frozen=True, slots=True)
class Step:
    fault: Fault
    node: int
    seconds: float
    """How long it lasts."""
    other: int = 0
    """From whom it is cut off."""
    rest: float = 0.0
    """Until the next one begins; negative: it begins before this one is over."""

    def __str__(self) -> str:
        other = f" {self.other}" if self.other else ""
        return f"{self.fault} {self.node}{other} {self.seconds:.1f} s"


def drawn(seed: int, steps: int = 4) -> tuple[Step, ...]:
    chance = random.Random(f"history {seed}")
    return tuple(_step(chance) for _ in range(steps))


def _step(chance: random.Random) -> Step:
    node = CONTROLLER if chance.random() < 0.15 else chance.choice(BROKERS)
    fault = chance.choice(_OF_CONTROLLERS if node == CONTROLLER else _OF_BROKERS)
    other = 0
    if fault is Fault.CUT_FROM:
        other = chance.choice([each for each in (CONTROLLER, *BROKERS) if each != node])
    seconds = chance.uniform(0.3, 6.0)
    return Step(fault, node, seconds, other, chance.uniform(-0.8 * seconds, 1.5))
