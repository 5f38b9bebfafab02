"""Does a name as a whole match a regular expression? In steps that are bounded by the length of the name times the size
of the expression, whatever both are: all ways are followed at once (Thompson), none is tried again.

Expressions that would be larger than `MOST_STATES` when their repetitions are written out are refused.
"""

from __future__ import annotations

from typing import Final, assert_never

from controller_runtime.coordinator.patterns.syntax import (
    BadPattern,
    Choice,
    Codes,
    Edge,
    Node,
    Repeat,
    Sequence,
    parse,
)
from controller_runtime.values import dataclass

MOST_STATES: Final = 1000
MOST_LENGTH: Final = 2000
_MOST_REMEMBERED: Final = 2000
_WORD: Final = frozenset(map(ord, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
_NO_CODE: Final = -1
_NEWLINE: Final = 10


@dataclass(slots=True)
class _State:
    """Where a way leads: over one character of `codes` to the states `then`; without codes it leads there at once, if
    `edge` holds.
    """

    codes: frozenset[int] | None
    edge: str
    then: tuple[int, ...]


class Pattern:
    """Raises BadPattern."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST_LENGTH:
            raise BadPattern("expression is too long")
        self.text = text
        self._states: list[_State] = []
        self._end = self._add(_State(frozenset(), "", ()))
        self._begin = self._build(parse(text), self._end)
        self._closed: dict[tuple[frozenset[int], str], tuple[frozenset[int], bool]] = {}
        self._stepped: dict[tuple[frozenset[int], int], frozenset[int]] = {}

    # Building: from the end to the beginning.

    def _add(self, state: _State) -> int:
        if len(self._states) >= MOST_STATES:
            raise BadPattern("expression is too large")
        self._states.append(state)
        return len(self._states) - 1

    def _build(self, node: Node, then: int) -> int:
        match node:
            case Codes(codes):
                return self._add(_State(codes, "", (then,)))
            case Edge(kind):
                return self._add(_State(None, kind, (then,)))
            case Sequence(parts):
                for part in reversed(parts):
                    then = self._build(part, then)
                return then
            case Choice(parts):
                return self._add(_State(None, "", tuple(self._build(part, then) for part in parts)))
            case Repeat(part, least, most):
                return self._repeat(part, least, most, then)
            case _ as unknown:
                assert_never(unknown)

    def _repeat(self, part: Node, least: int, most: int | None, then: int) -> int:
        if most is None:
            again = self._add(_State(None, "", ()))
            self._states[again].then = (self._build(part, again), then)
            then = again
        else:
            end = then
            for _ in range(most - least):
                then = self._add(_State(None, "", (self._build(part, then), end)))
        for _ in range(least):
            then = self._build(part, then)
        return then

    # Matching.

    def matches(self, name: str) -> bool:
        codes = [ord(char) for char in name]
        entered = frozenset({self._begin})
        before = _NO_CODE
        for code in codes:
            ways, _ = self._close(entered, _edges(before, code))
            if not ways:
                return False
            entered = self._step(ways, code)
            before = code
        return self._close(entered, _edges(before, _NO_CODE))[1]

    def _close(self, entered: frozenset[int], edges: str) -> tuple[frozenset[int], bool]:
        """States that want a character, of all that can be reached without one; and whether the end is among them."""
        key = (entered, edges)
        found = self._closed.get(key)
        if found is None:
            seen, left = set(entered), list(entered)
            while left:
                state = self._states[left.pop()]
                if state.codes is None and (not state.edge or state.edge in edges):
                    new = [each for each in state.then if each not in seen]
                    seen.update(new)
                    left += new
            ways = frozenset(each for each in seen if self._states[each].codes)
            found = ways, self._end in seen
            _remember(self._closed, key, found)
        return found

    def _step(self, ways: frozenset[int], code: int) -> frozenset[int]:
        key = (ways, code)
        found = self._stepped.get(key)
        if found is None:
            states = self._states
            found = frozenset(
                next_ for each in ways if code in (states[each].codes or ()) for next_ in states[each].then
            )
            _remember(self._stepped, key, found)
        return found


def _remember(memory: dict, key: object, found: object) -> None:  # type: ignore[type-arg]
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[key] = found


def _edges(before: int, after: int) -> str:
    """Which edges hold between two characters."""
    at_begin, at_end = before == _NO_CODE, after == _NO_CODE
    boundary = (before in _WORD) != (after in _WORD)
    found = "b" if boundary else "B"
    found += "A^" if at_begin else "^" if before == _NEWLINE else ""
    return found + ("z$" if at_end else "$" if after == _NEWLINE else "")
