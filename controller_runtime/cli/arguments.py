"""Command lines as Apache Kafka's argparse4j tools read and refuse them.

The texts of usage and help are data of each tool; what is refused is said in argparse4j's words, wrapped and justified
at 75 columns as it does, with exit code 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, Final, NoReturn

WIDTH: Final = 75

_PYTHON_TO_JAVA: Final = (
    (re.compile(r"^unrecognized arguments: (\S+).*"), r"unrecognized arguments: '\1'"),
    (re.compile(r"^the following arguments are required: command$"), "too few arguments"),
    (re.compile(r"^the following arguments are required: ([^,\s]+).*"), r"argument \1 is required"),
    (re.compile(r"^argument command: "), ""),
    (
        re.compile(r"^(argument \S+): invalid int value: '(.*)'"),
        "\\1: could not convert '\\2' to Integer (For input string: \"\\2\")",
    ),
)


class Parser(argparse.ArgumentParser):
    """A parser with texts of its own. Options are never abbreviated."""

    def __init__(self, usage_text: str = "", help_text: str = "", help_code: int = 0, **options: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, **options)
        self.usage_text = usage_text
        self.help_code = help_code
        self.help_text = help_text
        self.add_argument("-h", "--help", action=_PrintHelp, nargs=0)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """An option that nobody knows is refused before anything that is missing."""
        for word in args or ():
            if not word.startswith("-"):
                break
            if word.partition("=")[0] not in self._option_string_actions:
                self.error(f"unrecognized arguments: {word}")
            if self._option_string_actions[word.partition("=")[0]].nargs is None:
                break
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {unknown[0]}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        message = in_java_words(message)
        print(self.usage_text.rstrip("\n"), file=sys.stderr)
        print(justify(f"{self.prog.split(' ', maxsplit=1)[0]}: error: {message}"), file=sys.stderr)
        raise SystemExit(1)


class _PrintHelp(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        print(parser.usage_text + parser.help_text, end="")
        raise SystemExit(parser.help_code)


def in_java_words(message: str) -> str:
    """What argparse complains about, as argparse4j says it."""
    for pattern, replacement in _PYTHON_TO_JAVA:
        message = pattern.sub(replacement, message)
    return message


def justify(text: str, width: int = WIDTH) -> str:
    """Wrapped at `width` columns, every line but the last stretched to the full width, wider gaps in the middle."""
    lines, line = [], ""
    for piece in re.findall(r"-+|[^\s-]+-*|\s+", text):
        if len(line) + len(piece.rstrip()) >= width and line:
            lines.append(_stretch(line.rstrip(), width))
            line = ""
        line += piece if line else piece.lstrip()
    return "\n".join([*lines, line])


def _stretch(line: str, width: int) -> str:
    words = line.split(" ")
    gaps = len(words) - 1
    if gaps == 0:
        return line
    every, rest = divmod(width - len(line), gaps)
    first = (gaps - rest + 1) // 2
    widened = [" " * (1 + every + (first <= gap < first + rest)) for gap in range(gaps)]
    return "".join(word + gap for word, gap in zip(words, [*widened, ""], strict=True))
