"""The grammar of RE2, as far as names of topics can tell: text to a tree. What is refused is refused in RE2/J's words.

Names have ASCII only, so a class is a set of ASCII codes: what lies beyond is in none. Captures are groups and no more;
greedy or not makes no difference to whether a whole name matches.
"""

from __future__ import annotations

from typing import Final, NoReturn

from controller_runtime.coordinator.patterns.codes import ALL, ESCAPES, PERL, POSIX, folded, named, set_of
from controller_runtime.values import dataclass

MOST_REPEATS: Final = 1000
MOST_DEPTH: Final = 100
"""Groups in each other; RE2/J itself ends at 1000."""


class BadPattern(Exception):
    """The words of RE2/J's PatternSyntaxException."""


@dataclass(frozen=True, slots=True)
class Codes:
    """One character of these."""

    codes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Edge:
    """No character; `kind` is one of ^ $ A z b B."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Node
    least: int
    most: int | None


Node = Codes | Edge | Sequence | Choice | Repeat


def parse(text: str) -> Node:
    """Raises BadPattern."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self._folds = False
        self._lines = False
        self._all = False
        self._names: set[str] = set()

    def whole(self) -> Node:
        found = self._choice()
        if self._at < len(self._text):
            raise BadPattern("regexp/syntax: internal error")  # RE2/J's words for a ) too many.
        return found

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _take(self, expected: str) -> bool:
        if self._text.startswith(expected, self._at):
            self._at += len(expected)
            return True
        return False

    def _choice(self) -> Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text) and self._peek() not in "|)":
            if self._peek(2) == "\\Q":
                parts += self._quoted()
                continue
            begun = self._at
            if self._bounds() is None:
                atom = self._atom()
                parts += [] if atom is None else [self._repeated(atom)]
            elif parts:
                self._at = begun
                parts[-1] = self._repeated(parts[-1])  # Flags stood between them.
            else:
                raise BadPattern("missing argument to repetition operator")
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _quoted(self) -> list[Node]:
        self._at += 2
        body, _, _ = self._text[self._at :].partition("\\E")
        self._at = min(len(self._text), self._at + len(body) + 2)
        return [Codes(self._folded(ord(char))) for char in body]

    def _repeated(self, atom: Node) -> Node:
        found, was_repeated = atom, False
        while True:
            bounds = self._bounds()
            if bounds is None:
                return found
            if was_repeated:
                raise BadPattern("invalid nested repetition operator")
            self._take("?")
            least, most = bounds
            found, was_repeated = Repeat(found, least, most), True

    def _bounds(self) -> tuple[int, int | None] | None:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        if self._peek() != "{":
            return None
        inside, closed, _ = self._text[self._at + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        if not closed or not _is_number(low) or (high and not _is_number(high)):
            return None  # It stands for itself.
        self._at += len(inside) + 2
        least = _number(low)
        most = (_number(high) if high else None) if comma else least
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise BadPattern("invalid repeat count")
        return least, most

    def _atom(self) -> Node | None:
        """None: what stood there says nothing by itself (flags)."""
        char = self._peek()
        self._at += 1
        match char:
            case "(":
                return self._group()
            case "[":
                return Codes(self._brackets())
            case ".":
                return Codes(ALL if self._all else ALL - {10})
            case "^":
                return Edge("^" if self._lines else "A")
            case "$":
                return Edge("$" if self._lines else "z")
            case "\\":
                return self._escaped()
            case _:
                return Codes(self._folded(ord(char)))

    def _group(self) -> Node | None:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise BadPattern("expression nests too deeply")
        before = (self._folds, self._lines, self._all)
        if self._take("?"):
            if self._take("P<") or self._take("<"):
                self._name()
            elif not self._flags():
                self._depth -= 1
                return None
        found = self._choice()
        if not self._take(")"):
            raise BadPattern("missing closing )")
        self._folds, self._lines, self._all = before
        self._depth -= 1
        return found

    def _name(self) -> None:
        name, closed, _ = self._text[self._at :].partition(">")
        if not closed or not name or not all(each == "_" or (each.isascii() and each.isalnum()) for each in name):
            raise BadPattern("invalid named capture")
        if name in self._names:
            raise BadPattern("duplicate capture group name")
        self._names.add(name)
        self._at += len(name) + 1

    def _flags(self) -> bool:
        """False: they hold from here on, and no group begins."""
        on, seen = True, False
        while True:
            flag = self._peek()
            self._at += 1
            match flag:
                case "i":
                    self._folds = on
                case "m":
                    self._lines = on
                case "s":
                    self._all = on
                case "U":
                    pass
                case "-" if on:
                    on, seen = False, False
                    continue
                case ":" | ")" if on or seen:
                    return flag == ":"
                case _:
                    raise BadPattern("invalid or unsupported Perl syntax")
            seen = True

    def _folded(self, code: int) -> frozenset[int]:
        return folded(frozenset({code})) & ALL if self._folds else frozenset({code}) & ALL

    def _escaped(self) -> Node:
        char = self._peek()
        if not char:
            raise BadPattern("trailing backslash at end of expression")
        if char in "AzbB":
            self._at += 1
            return Edge(char)
        if char in "CZ":
            _refuse_escape()
        found = self._class_escape()
        return Codes(found if found is not None else self._folded(self._code()))

    def _class_escape(self) -> frozenset[int] | None:
        """After a backslash: \\d, \\W, \\pL, \\P{Greek}; None: it is one character."""
        char = self._peek()
        if char and char.lower() in PERL:
            self._at += 1
            return PERL[char] if char.islower() else ALL - PERL[char.lower()]
        if char not in ("p", "P") or not char:
            return None
        self._at += 1
        if self._take("{"):
            name, closed, _ = self._text[self._at :].partition("}")
            if not closed:
                raise BadPattern("invalid character class range")
            self._at += len(name) + 1
        else:
            name = self._peek()
            self._at += 1
        negated = (char == "P") ^ name.startswith("^")
        name = name.removeprefix("^")
        found = named(name)
        if found is None:
            raise BadPattern("invalid character class range")
        found = folded(found) if self._folds else found
        return ALL - found if negated else found

    def _code(self) -> int:
        """After a backslash: one character."""
        char = self._peek()
        self._at += 1
        if not char:
            raise BadPattern("trailing backslash at end of expression")
        if char in "1234567" and self._peek() not in tuple("01234567"):
            _refuse_escape()  # No references.
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self._peek() and self._peek() in "01234567":
                digits += self._peek()
                self._at += 1
            return int(digits, 8)
        if char == "x":
            return self._hexadecimal()
        if char in ESCAPES:
            return ESCAPES[char]
        if char.isascii() and not char.isalnum():
            return ord(char)
        return _refuse_escape()

    def _hexadecimal(self) -> int:
        if self._take("{"):
            digits, closed, _ = self._text[self._at :].partition("}")
            self._at += len(digits) + 1
        else:
            digits, closed = self._peek(2), "}"
            self._at += 2
            if len(digits) < 2:
                _refuse_escape()
        if not closed or not digits or any(each not in "0123456789abcdefABCDEF" for each in digits):
            _refuse_escape()
        code = int(digits[-8:], 16)
        return code if code <= 0x10FFFF and len(digits.lstrip("0")) <= 6 else _refuse_escape()

    def _brackets(self) -> frozenset[int]:
        negated = self._take("^")
        found: set[int] = set()
        first = True
        while not self._peek() or self._peek() != "]" or first:
            if not self._peek():
                raise BadPattern("missing closing ]")
            first = False
            if self._peek(2) == "[:" and ":]" in self._text[self._at + 2 :]:
                found |= self._posix()
                continue
            if self._peek() == "\\":
                self._at += 1
                several = self._class_escape()
                if several is not None:
                    found |= several
                    continue
                self._at -= 1
            low = high = self._one_of_class()
            if self._peek() == "-" and self._peek(2)[1:] not in ("]", ""):
                self._at += 1
                high = self._one_of_class()
                if high < low:
                    raise BadPattern("invalid character class range")
            found |= frozenset(range(low, min(high, 127) + 1))
        self._at += 1
        codes = folded(frozenset(found)) if self._folds else frozenset(found)
        return ALL - codes if negated else codes & ALL

    def _one_of_class(self) -> int:
        char = self._peek()
        if not char:
            raise BadPattern("missing closing ]")
        self._at += 1
        return self._code() if char == "\\" else ord(char)

    def _posix(self) -> frozenset[int]:
        inside, _, _ = self._text[self._at + 2 :].partition(":]")
        name = inside.removeprefix("^")
        if name not in POSIX:
            raise BadPattern("invalid character class range")
        self._at += len(inside) + 4
        return ALL - set_of(name) if inside.startswith("^") else set_of(name)


def _refuse_escape() -> NoReturn:
    raise BadPattern("invalid escape sequence")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or not text.startswith("0"))


def _number(text: str) -> int:
    return int(text) if len(text) < 8 else MOST_REPEATS + 1
