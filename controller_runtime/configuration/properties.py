"""Java's `.properties` text, with the line each value came from.

Comments (`#`, `!`), the separators `=`, `:` and blank, continued lines and escapes are as in java.util.Properties. A
later line wins over an earlier one, as in Java. Callers may not assume that a value makes sense: that is for `config`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller_runtime.values import dataclass, field

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS: Final = " \t\f"


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    value: str = field(repr=False)
    """It may be a secret."""
    origin: str
    """Where it was written, for error messages: `server.properties:12` or `--override`."""


class BadProperties(ValueError):
    """The text is not a properties file; names the line, and does not show it: it may hold a secret."""


def parse_properties(text: str, source: str) -> dict[str, Property]:
    properties: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        name, value = _split(line)
        origin = f"{source}:{number}"
        properties[_unescape(name, origin)] = Property(_unescape(name, origin), _unescape(value, origin), origin)
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blanks, a trailing backslash joined with the next line; each with its first line's
    number.
    """
    joined, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.lstrip(_BLANKS)
        if not joined and (not line or line[0] in "#!"):
            continue
        first = first if joined else number
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            joined += line[:-1]
            continue
        yield first, joined + line
        joined = ""
    if joined:
        yield first, joined


def _split(line: str) -> tuple[str, str]:
    """At the first `=`, `:` or blank that is not escaped; blanks around one `=` or `:` belong to the separator."""
    at = 0
    while at < len(line) and line[at] not in "=:" + _BLANKS:
        at += 2 if line[at] == "\\" else 1
    rest = line[at:].lstrip(_BLANKS)
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(_BLANKS)
    return line[:at], rest


def _unescape(text: str, origin: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out.append(text[at])
            at += 1
        elif text[at + 1 : at + 2] == "u":
            digits = text[at + 2 : at + 6]
            if len(digits) != 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                raise BadProperties(f"{origin}: malformed \\uxxxx escape")
            out.append(chr(int(digits, 16)))
            at += 6
        else:
            follower = text[at + 1 : at + 2]
            out.append(_ESCAPES.get(follower, follower))
            at += 2
    return "".join(out)
