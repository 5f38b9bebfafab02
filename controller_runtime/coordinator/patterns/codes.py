"""Classes of characters in regular expressions: by POSIX's names, Perl's letters and Unicode's categories, as sets of
ASCII codes.
"""

from __future__ import annotations

import unicodedata
from typing import Final

ALL: Final = frozenset(range(128))


def set_of(test: str) -> frozenset[int]:
    return frozenset(code for code in ALL if _is_in(test, chr(code)))


def _is_in(name: str, char: str) -> bool:
    """POSIX classes, of ASCII."""
    match name:
        case "alnum":
            return char.isalnum()
        case "alpha":
            return char.isalpha()
        case "blank":
            return char in " \t"
        case "cntrl":
            return ord(char) < 32 or ord(char) == 127
        case "digit":
            return char.isdigit()
        case "graph":
            return 32 < ord(char) < 127
        case "lower":
            return char.islower()
        case "print":
            return 31 < ord(char) < 127
        case "punct":
            return 32 < ord(char) < 127 and not char.isalnum()
        case "space":
            return char in " \t\n\r\f\v"
        case "upper":
            return char.isupper()
        case "word":
            return char.isalnum() or char == "_"
        case "xdigit":
            return char in "0123456789abcdefABCDEF"
        case _:
            return True


POSIX: Final = (
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
)  # fmt: skip
PERL: Final = {"d": set_of("digit"), "s": set_of("space") - {11}, "w": set_of("word")}
ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_CATEGORIES: Final = frozenset(
    {
        "C",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
    }
)
_SCRIPTS: Final = frozenset(
    {
        "Arabic",
        "Armenian",
        "Braille",
        "Common",
        "Cyrillic",
        "Greek",
        "Han",
        "Hebrew",
        "Hiragana",
        "Katakana",
        "Latin",
        "Thai",
    }
)


def named(name: str) -> frozenset[int] | None:
    """Of a category or script of Unicode; None: there is none of this name."""
    if name == "Any":
        return ALL
    if name in _CATEGORIES:
        return frozenset(code for code in ALL if unicodedata.category(chr(code)).startswith(name))
    if name in _SCRIPTS:
        return frozenset(code for code in ALL if name == ("Latin" if chr(code).isalpha() else "Common"))
    return None


def folded(codes: frozenset[int]) -> frozenset[int]:
    chars = [chr(code) for code in codes]
    return (
        codes | {ord(char.lower()) for char in chars if char.isascii()} | {ord(c.upper()) for c in chars if c.isascii()}
    )
