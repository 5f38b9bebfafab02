"""Scripts as tests: a text file is a dialogue, `command` lines, `----`, and what came of them; `--rewrite` writes the
latter anew.

# A comment belongs to the command below it.
register 1
----
RegisterBroker 1 epoch=7
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: comment lines, the input, the expected output."""

    comments: str
    command: str
    expected: str

    def render(self) -> str:
        return f"{self.comments}{self.command}\n----\n{self.expected}\n"


def parse(text: str) -> list[Turn]:
    turns = []
    for block in text.strip().split("\n\n"):
        asked, separator, expected = block.partition("\n----")
        assert separator, f"no ---- in {block!r}"
        lines = asked.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        command = [line for line in lines if not line.startswith("#")]
        turns.append(Turn("".join(f"{line}\n" for line in comments), "\n".join(command), expected.removeprefix("\n")))
    return turns


def check(path: Path, answer: Callable[[str], str], *, rewrite: bool) -> None:
    """Run a script; `answer` gives the output of each command."""
    turns = parse(path.read_text())
    answered = [Turn(turn.comments, turn.command, answer(turn.command).rstrip("\n")) for turn in turns]
    produced = "\n".join(turn.render() for turn in answered)
    if rewrite:
        path.write_text(produced)
    assert produced == "\n".join(turn.render() for turn in turns)
