"""Dialogues with bare replicas: each script tells one story, its expected lines are what reviewers read (`--rewrite`
renews them).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.simulation.raft_script import Script

pytestmark = pytest.mark.unit

SCRIPTS = sorted((Path(__file__).parent / "testdata").glob("*.txt"))
SEPARATOR = "----"


def play(text: str) -> str:
    """The same text with the outputs that the commands really have."""
    script = Script()
    blocks = []
    for block in text.strip().split("\n\n"):
        head, _, _ = block.partition(f"\n{SEPARATOR}")
        commands = [line for line in head.splitlines() if line and not line.startswith("#")]
        if not commands:
            blocks.append(head)
            continue
        output = "\n".join(script.run(command) for command in commands)
        blocks.append(f"{head}\n{SEPARATOR}\n{output}")
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_quorum_answers_as_the_script_says(path: Path, rewrite: bool) -> None:
    played = play(path.read_text())
    if rewrite:
        path.write_text(played)
    assert path.read_text() == played


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 10
