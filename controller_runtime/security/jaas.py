"""The grammar of `sasl.jaas.config`: `Module flag name=value ... ;`, read as Java's StreamTokenizer reads it.

Blanks and newlines separate; `//`, `/* */` and a lone `/` to the end of its line are comments; a string is in single or
double quotes and has Java's escapes; a word begins with a letter, `_` or `$`, and what looks like a number is none.
Nothing here knows what an option means. No error text shows a value: it may be a password.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.values import dataclass, field

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTHBEARER_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
MODULES: Final = (PLAIN_MODULE, SCRAM_MODULE, OAUTHBEARER_MODULE)
"""Others would run code that this node does not have, or, as JndiLoginModule, that nobody should (CVE-2023-25194)."""
_FLAGS: Final = frozenset({"REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"})
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LINE_ENDS: Final = "\r\n"


class BadJaas(ValueError):
    """The text is no JAAS entry, or names a module that is not accepted."""


@dataclass(frozen=True, slots=True)
class JaasEntry:
    module: str
    options: Mapping[str, str] = field(repr=False)
    """Of a name that is written twice the last one."""


def parse_jaas(text: str) -> JaasEntry:
    """The one entry of a `sasl.jaas.config`. Raises BadJaas."""
    entries = list(_entries(_Tokens(text)))
    if not entries:
        raise BadJaas("Login module not specified in JAAS config")
    if len(entries) > 1:
        raise BadJaas(f"JAAS config property contains {len(entries)} login modules, should be 1 module")
    found = entries[0]
    if found.module not in MODULES:
        raise BadJaas(f"login module {found.module} is not accepted: one of {', '.join(MODULES)}")
    return found


def _entries(tokens: _Tokens) -> Iterator[JaasEntry]:
    while (module := tokens.next()) is not None:
        flag = tokens.next()
        if flag is None:
            raise BadJaas("Login module control flag not specified in JAAS config")
        if flag.word is None:
            raise BadJaas("Login module control flag is not available in the JAAS config")
        if flag.word.upper() not in _FLAGS:
            raise BadJaas("Invalid login module control flag in JAAS config: required, requisite, sufficient, optional")
        options = _options(tokens)
        if module.word is None:
            raise BadJaas("Login module not specified in JAAS config")
        yield JaasEntry(module.word, options)


def _options(tokens: _Tokens) -> dict[str, str]:
    options: dict[str, str] = {}
    while (key := tokens.next()) is not None and key.kind != ";":
        if key.word is None:
            raise BadJaas("an option of the JAAS config has no name: a name begins with a letter")
        equals = tokens.next()
        value = None if equals is None or equals.kind != "=" else tokens.next()
        if value is None or value.word is None:
            raise BadJaas(f"Value not specified for option {len(options) + 1} of the login module in JAAS config")
        options[key.word] = value.word
    if key is None:
        raise BadJaas("JAAS config entry not terminated by semi-colon")
    return options


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    """A character that stands for itself, `w` of a word or string, `0` of a number."""
    word: str | None = None


class _Tokens:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def next(self) -> _Token | None:
        self._skip()
        if self._at >= len(self._text):
            return None
        first = self._text[self._at]
        if first in "0123456789.-":
            return self._number()
        if _begins_word(first):
            return _Token("w", self._while_word())
        if first in "\"'":
            return _Token("w", self._string(first))
        self._at += 1
        return _Token(first)

    def _skip(self) -> None:
        """Blanks and comments."""
        text = self._text
        while self._at < len(text):
            if text[self._at] <= " ":
                self._at += 1
            elif text.startswith("/*", self._at):
                end = text.find("*/", self._at + 2)
                self._at = len(text) if end < 0 else end + 2
            elif text[self._at] == "/":
                while self._at < len(text) and text[self._at] not in _LINE_ENDS:
                    self._at += 1
            else:
                return

    def _number(self) -> _Token:
        """As Java: digits and at most one point; `-` and `.` alone are themselves."""
        start, text = self._at, self._text
        if text[start] == "-":
            self._at += 1
            if self._at >= len(text) or text[self._at] not in "0123456789.":
                return _Token("-")
        seen = False
        while self._at < len(text) and (_is_digit(text[self._at]) or (text[self._at] == "." and not seen)):
            seen = seen or text[self._at] == "."
            self._at += 1
        return _Token("." if text[start : self._at] == "." else "0")

    def _while_word(self) -> str:
        start, text = self._at, self._text
        while self._at < len(text) and (_begins_word(text[self._at]) or text[self._at] in "0123456789.-"):
            self._at += 1
        return text[start : self._at]

    def _string(self, quote: str) -> str:
        """To the same quote, or, as Java, to the end of the line."""
        text, out = self._text, []
        self._at += 1
        while self._at < len(text) and text[self._at] not in (quote, *_LINE_ENDS):
            letter = text[self._at]
            self._at += 1
            out.append(self._escaped() if letter == "\\" and self._at < len(text) else letter)
        if self._at < len(text) and text[self._at] == quote:
            self._at += 1
        return "".join(out)

    def _escaped(self) -> str:
        text, letter = self._text, self._text[self._at]
        if letter not in "01234567":
            self._at += 1
            return _ESCAPES.get(letter, letter)
        longest = 3 if letter <= "3" else 2
        start = self._at
        while self._at < len(text) and self._at - start < longest and text[self._at] in "01234567":
            self._at += 1
        return chr(int(text[start : self._at], 8))


def _begins_word(letter: str) -> bool:
    return (letter.isascii() and letter.isalpha()) or letter in "_$" or letter >= "\xa0"


def _is_digit(letter: str) -> bool:
    return letter in "0123456789"
