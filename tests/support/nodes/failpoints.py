"""An exception at the n-th call of a function of ours, while somebody's request is handled: what a bug anywhere would
do.

with Failpoint(n, error) as point: ...handle something...; point.hit says where, if n calls were made. Counting is done
by the interpreter's profile hook, so nothing of the code under test is replaced, and a function that is added tomorrow
is a failpoint too. (CPython 3.11.7 was seen to crash under a trace hook that raises.)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType, TracebackType
from typing import Final, Self

LAYERS: Final = ("protocol", "metadata", "raft", "controller", "broker", "node")
SHELL: Final = ("server/shell/requests.py",)
DRIVERS: Final = ("node/pump.py",)
"""What gives a node its events and takes its effects is no work for a request; an exception there ends the process."""
NEVER: Final = (
    # Raised in the middle of going back, there is nothing to go back to.
    "_go_back",
)


class Failpoint:
    def __init__(self, at: int, error: BaseException | None, inside: Iterable[CodeType] = ()) -> None:
        """`at` 0 only counts. `inside`: only while one of these functions runs; else everywhere."""
        self.calls = 0
        self.hit: str | None = None
        self._at = at
        self._error = error
        self._inside = frozenset(inside)
        self._depth = 0
        self._counted: dict[CodeType, bool] = {}

    def __enter__(self) -> Self:
        sys.setprofile(self._called)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, arg: object) -> None:
        del arg
        if event not in {"call", "return"}:
            return
        code = frame.f_code
        entered = code in self._inside
        if event == "return":
            self._depth -= entered
            return
        if (self._depth or not self._inside) and self._counts(code):
            self.calls += 1
            if self.calls == self._at and self._error is not None:
                self.hit = f"{code.co_filename.rpartition('controller_runtime/')[2]}:{code.co_qualname}"
                raise self._error
        self._depth += entered

    def _counts(self, code: CodeType) -> bool:
        known = self._counted.get(code)
        if known is None:
            place = code.co_filename.rpartition("/controller_runtime/")[2]
            known = (place.partition("/")[0] in LAYERS or place in SHELL) and code.co_name not in NEVER
            known = known and place not in DRIVERS and not code.co_name.startswith("<")
            self._counted[code] = known
        return known
