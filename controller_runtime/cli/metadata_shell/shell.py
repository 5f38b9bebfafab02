"""`kafka-metadata-shell`: one command given as arguments, or a prompt.

As Apache Kafka's: what a command does not find is said on standard output with exit code 0; what keeps the image from
being loaded is `Unexpected error: ...` with exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from controller_runtime.admin.connections import AdminError
from controller_runtime.cli.arguments import Parser
from controller_runtime.cli.bootstrap import BadCommand, choose
from controller_runtime.cli.metadata_shell import repl
from controller_runtime.cli.metadata_shell.commands import Exit, Session, execute
from controller_runtime.cli.metadata_shell.source import Files, Live, Source, Unreadable
from controller_runtime.metadata.replay import ReplayError
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.protocol.errors import ProtocolError

_USAGE: Final = """\
usage: kafka-metadata-shell [-h] --snapshot SNAPSHOT
                            [command [command ...]]
"""
_HELP: Final = """
The Apache Kafka metadata shell

positional arguments:
  command                The command to run.

optional arguments:
  -h, --help             show this help message and exit
  --snapshot SNAPSHOT, -s SNAPSHOT
                         The metadata snapshot file to read.

instead of a snapshot file:
  --snapshot DIRECTORY   A log directory, or the metadata log in it, of a node
                         that does not run: the newest snapshot and the log.
  --bootstrap-controller CONTROLLERS
                         A living quorum: what is committed, read anew before
                         each command.
  --command-config FILE  Properties of the client of --bootstrap-controller.
"""


def main(argv: Sequence[str]) -> int:
    parser = Parser(_USAGE, _HELP, help_code=1, prog="kafka-metadata-shell")
    parser.add_argument("--snapshot", "-s")
    parser.add_argument("--bootstrap-controller")
    parser.add_argument("--command-config")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args(list(argv))
    if options.snapshot is None and options.bootstrap_controller is None:
        parser.error("argument --snapshot/-s is required")
    if options.snapshot is not None and options.bootstrap_controller is not None:
        parser.error("argument --bootstrap-controller: not allowed with argument --snapshot/-s")
    try:
        return _run(options)
    except (Unreadable, BadCommand, AdminError, ApiError, ProtocolError, ReplayError, OSError) as error:
        print(f"Unexpected error: {error}", file=sys.stderr)
        return 1


def _run(options: Any) -> int:
    if not options.command:
        print("Loading...", flush=True)
    source: Source = (
        Files(options.snapshot)
        if options.snapshot is not None
        else Live(choose(None, options.bootstrap_controller, options.command_config))
    )
    try:
        source.refresh()
        session = Session(source.root(), interactive=not options.command)
        if options.command:
            for line in execute(session, options.command):
                print(line)
        else:
            print("Starting...")
            repl.run(session, lambda: _renew(session, source))
    except Exit:
        pass
    finally:
        source.close()
    return 0


def _renew(session: Session, source: Source) -> None:
    """A quorum that does not answer leaves the shell with what it knows."""
    try:
        source.refresh()
        session.root = source.root()
    except (AdminError, ApiError, ProtocolError) as error:
        print(f"What follows may be old: {error}", file=sys.stderr)
