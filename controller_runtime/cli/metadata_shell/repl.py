"""The interactive shell: a prompt, completion and a history where there is a terminal, and plain lines where not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from controller_runtime.cli.metadata_shell import words
from controller_runtime.cli.metadata_shell.commands import Exit, Session, completions, execute

_PROMPT: Final = ">> "


def run(session: Session, before_each: Callable[[], None]) -> None:
    """Until `exit` or the end of the input. `before_each` may renew `session.root`."""
    if sys.stdin.isatty():
        _use_readline(session)
    print("[ Kafka Metadata Shell ]")
    while True:
        try:
            line = input(_PROMPT)
        except EOFError:
            return
        except KeyboardInterrupt:
            print("^C")
            continue
        if not line.startswith((" ", "\t")) and line.strip() and session.history[-1:] != [line]:
            session.history.append(line)
        try:
            _obey(session, line, before_each)
        except Exit:
            return
        except KeyboardInterrupt:
            print("^C")


def _obey(session: Session, line: str, before_each: Callable[[], None]) -> None:
    typed = words.split(line)
    if typed:
        before_each()
    session.width = os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None
    for said in execute(session, typed):
        print(said)
    sys.stdout.flush()


def _use_readline(session: Session) -> None:
    """Python's `input` edits lines with it once it is imported."""
    import readline

    def complete(_: str, number: int) -> str | None:
        line = readline.get_line_buffer()[: readline.get_endidx()]
        typed = words.split(line)
        if not typed or line[-1:].isspace():
            typed.append("")
        found = completions(session, typed)
        return found[number] if number < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("tab: complete")
