"""The commands of a page of `docs/operations`, as its reader would run them: a test that runs these cannot show other
commands than those that are written there.

    for command in commands("migration.md", "New voters"):
        run(words_of(command, {"QUORUM": bootstrap}))
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from support.nodes.processes import REPOSITORY

PAGES: Final = REPOSITORY / "docs" / "operations"


def commands(page: str, heading: str) -> list[str]:
    """Every line of the blocks below this heading that calls one of Kafka's tools."""
    lines = [line for block in blocks(page, heading) for line in block.splitlines() if line.startswith("kafka-")]
    assert lines, f"{page} has no command below {heading!r}"
    return lines


def blocks(page: str, heading: str, language: str = "") -> list[str]:
    """What stands between fences of this language below this heading."""
    sections = re.split(r"^##+ ", (PAGES / page).read_text(), flags=re.MULTILINE)
    found = [section for section in sections if section.partition("\n")[0] == heading]
    assert len(found) == 1, f"{page} has {len(found)} sections {heading!r}"
    shown = re.findall(rf"^```{language}\n(.*?)^```$", found[0], re.MULTILINE | re.DOTALL)
    assert shown, f"{page} shows nothing in {language or 'no language'} below {heading!r}"
    return shown


def words_of(command: str, variables: Mapping[str, str]) -> list[str]:
    """The words of a command, its variables and file names exchanged for what they stand for here."""
    words = [_exchanged(word, variables) for word in shlex.split(command, comments=True)]
    assert not any("$" in word for word in words), f"unknown variables: {words}"
    return words


def _exchanged(word: str, variables: Mapping[str, str]) -> str:
    if word in variables:
        return variables[word]
    return re.sub(r"\$(\w+)", lambda name: variables.get(name[1], name[0]), word)
