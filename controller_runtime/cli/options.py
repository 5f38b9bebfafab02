"""Options as Apache Kafka's tools read them with joptsimple: `--name value`, `--name=value`, and what is left over.
Names are not shortened.

What is wrong raises `BadOption` with joptsimple's words; each tool says it in its own way. `refuse` is what
`CommandLineUtils.printUsageAndExit` does: the reason and the list of options on standard error, exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NoReturn

from controller_runtime.values import dataclass, field

VERSION: Final = "4.3.1"


class BadOption(Exception):
    """`java` is the class of Java's exception."""

    def __init__(self, java: str, message: str) -> None:
        self.java = f"joptsimple.{java}"
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Option:
    name: str
    text: str
    value: str | None = None
    """What the value is; None: the option takes none."""
    optional: bool = False
    """The value may be left out."""


@dataclass(frozen=True, slots=True)
class Given:
    """What was written on the command line."""

    values: Mapping[str, tuple[str, ...]]
    rest: tuple[str, ...] = field(default=())

    def has(self, name: str) -> bool:
        return name in self.values

    def all(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, ())

    def value(self, name: str) -> str | None:
        """The only one given. Raises BadOption when there are several."""
        found = self.values.get(name, ())
        if len(found) > 1:
            why = f"Found multiple arguments for option {name}, but you asked for only one"
            raise BadOption("MultipleArgumentsForOptionException", why)
        return found[0] if found else None

    def number(self, name: str, default: int, bits: int = 32) -> int:
        """Raises BadOption, when it is asked for, as joptsimple does."""
        found = self.value(name)
        if found is None:
            return default
        if not _is_int(found, bits):
            raise BadOption("OptionArgumentConversionException", f"Cannot parse argument '{found}' of option {name}")
        return int(found)


class Table:
    """The options of one tool."""

    def __init__(self, about: str, options: Iterable[Option]) -> None:
        self.about = about
        self._options = {one.name: one for one in options}
        self._options.setdefault("help", Option("help", "Print usage information."))
        self._options.setdefault("version", Option("version", "Display Kafka version."))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._options)

    def parse(self, argv: Sequence[str]) -> Given:
        """Raises BadOption; help, version and nothing at all end the tool (SystemExit)."""
        if not argv:
            self.refuse(self.about)
        values: dict[str, tuple[str, ...]] = {}
        rest, words = [], list(argv)
        while words:
            word = words.pop(0)
            if word == "--":
                rest.extend(words)
                break
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            name, separator, value = word.lstrip("-").partition("=")
            option = self._named(name)
            found = self._value_of(option, value if separator else None, words)
            values[option.name] = (*values.get(option.name, ()), *found)
        given = Given(values, tuple(rest))
        self._help_or_version(given)
        return given

    def _named(self, name: str) -> Option:
        if name not in self._options:
            raise BadOption("UnrecognizedOptionException", f"{name} is not a recognized option")
        return self._options[name]

    def _value_of(self, option: Option, attached: str | None, words: list[str]) -> tuple[str, ...]:
        if option.value is None:
            return ()
        value = attached
        if value is None and words and not (option.optional and _looks_like_an_option(words[0])):
            value = words.pop(0)
        if value is None:
            if option.optional:
                return ()
            raise BadOption("OptionMissingRequiredArgumentException", f"Option {option.name} requires an argument")
        return (value,)

    def _help_or_version(self, given: Given) -> None:
        if given.has("help"):
            self.refuse(self.about)
        if given.has("version"):
            print(VERSION)
            raise SystemExit(0)

    def require(self, given: Given, *names: str) -> None:
        for name in names:
            if not given.has(name):
                self.refuse(f'Missing required argument "[{name}]"')

    def exactly_one(self, given: Given, actions: Sequence[str], why: str) -> str:
        """The one action that is asked for."""
        asked = [name for name in actions if given.has(name)]
        if len(asked) != 1:
            self.refuse(why)
        return asked[0]

    def exclude(self, given: Given, used: str, *others: str) -> None:
        if given.has(used):
            for other in others:
                if given.has(other):
                    self.refuse(f'Option "[{used}]" can\'t be used with option "[{other}]"')

    def refuse(self, why: str) -> NoReturn:
        print(f"{why}\n{self.listing()}", file=sys.stderr)
        raise SystemExit(1)

    def listing(self) -> str:
        rows = []
        for one in sorted(self._options.values(), key=lambda one: one.name):
            value = "" if one.value is None else f" [{one.value}]" if one.optional else f" <{one.value}>"
            rows.append((f"--{one.name}{value}", one.text))
        width = max(len(left) for left, _ in rows) + 2
        head = [f"{'Option':{width}}Description", f"{'------':{width}}-----------"]
        return "\n".join([*head, *(f"{left:{width}}{text}".rstrip() for left, text in rows)])


def _looks_like_an_option(word: str) -> bool:
    return word.startswith("-") and not word[1:].isdigit()


def _is_int(text: str, bits: int) -> bool:
    digits = text[1:] if text[:1] in {"-", "+"} else text
    limit = 1 << (bits - 1)
    return digits.isascii() and digits.isdigit() and len(digits) < 20 and -limit <= int(text) < limit
