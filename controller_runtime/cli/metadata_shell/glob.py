"""Paths with `*`, `?` and `{one,other}`, as the shell of Apache Kafka matches them.

A component that is no pattern, or a malformed one (`{` that is never closed), is a name. A backslash takes the meaning
from the character after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from controller_runtime.cli.metadata_shell.tree import Directory, Node
from controller_runtime.values import dataclass

_SPECIAL_AFTER_BACKSLASH: Final = frozenset("*?\\{}$()+.[]^|")
_GROUP: Final = {"{": "(?:(?:", ",": ")|(?:", "}": "))"}


@dataclass(frozen=True, slots=True)
class Found:
    """A node and the names on the way to it."""

    path: tuple[str, ...]
    node: Node

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else "/"

    @property
    def absolute(self) -> str:
        return "/" + "/".join(self.path)


def find(root: Directory, working_directory: str, pattern: str) -> Iterator[Found]:
    """Every node that the pattern names, in the order of names."""
    full = pattern if pattern.startswith("/") else f"{working_directory}/{pattern}"
    yield from _below(Found((), root), components(full))


def components(path: str) -> list[str]:
    """The names of a path, `.` and `..` resolved; there is nothing above the root."""
    names: list[str] = []
    for name in filter(None, path.split("/")):
        if name == "..":
            names[-1:] = []
        elif name != ".":
            names.append(name)
    return names


def _below(found: Found, pattern: Sequence[str]) -> Iterator[Found]:
    """Depth first, with a list of what is still to do: a path may have any number of components."""
    open_ = [found]
    for component in pattern:
        compiled = compile_component(component)
        open_ = [child for one in open_ for child in _children(one, component, compiled)]
    yield from open_


def _children(found: Found, component: str, compiled: re.Pattern[str] | None) -> Iterator[Found]:
    if not isinstance(found.node, Directory):
        return
    names = [component] if compiled is None else filter(compiled.fullmatch, found.node.sorted_names())
    for name in names:
        child = found.node.child(name)
        if child is not None:
            yield Found((*found.path, name), child)


@cache
def compile_component(component: str) -> re.Pattern[str] | None:
    """None when the component can match one name only: itself."""
    text, literal, in_group, letters = "", True, False, iter(component)
    for letter in letters:
        if letter == "\\":
            after = next(letters, "")
            text += re.escape(after) if after in _SPECIAL_AFTER_BACKSLASH and after else after or "\\\\"
        elif letter in "?*":
            text, literal = text + (".*" if letter == "*" else "."), False
        elif letter in _GROUP and (in_group or letter == "{"):
            if letter == "{" and in_group:
                return None
            text, literal, in_group = text + _GROUP[letter], False, letter != "}"
        else:
            text += re.escape(letter)
    return None if literal or in_group else re.compile(text)
