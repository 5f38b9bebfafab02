"""Long work of a node in pieces, so that consensus is served between them.

Such work is a generator. Whatever it yields is one unit of work, a few dozen microseconds at most: something to be
done, or nothing but "a piece may end here".
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, Generic, TypeVar

Effect = TypeVar("Effect")
Result = TypeVar("Result")

PIECE_UNITS: Final = 250
"""Of one piece: a few milliseconds of work."""

InPieces = Generator[Effect | None, None, Result]
"""What is to be done meanwhile, in order, and what comes of it at the end."""


class LongWork(Generic[Effect, Result]):
    def __init__(self, work: InPieces[Effect, Result]) -> None:
        self._work = work
        self.results: list[Result] = []
        """One, when it is over."""

    @property
    def is_over(self) -> bool:
        return bool(self.results)

    def go_on(self, out: list[Effect], units: int | None = None) -> int:
        """So many units of it, or a whole piece; what is left of them. What is to be done goes to `out`, also when the
        work fails in the middle.
        """
        units = PIECE_UNITS if units is None else units
        while units:
            try:
                unit = next(self._work)
            except StopIteration as end:
                self.results.append(end.value)
                break
            units -= 1
            if unit is not None:
                out.append(unit)
        return units


def whole(work: InPieces[Effect, Result]) -> Result:
    """Its result, when nobody waits; there must be nothing to be done meanwhile."""
    while True:
        try:
            given = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        assert given is None, f"nobody does {given}"
