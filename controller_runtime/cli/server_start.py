"""`kafka-server-start`: run one node from its `server.properties` until SIGTERM."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import Final

USAGE: Final = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"


def main(argv: Sequence[str]) -> int:
    """Run the node; returns its exit code."""
    words = [word for word in argv if word not in {"-daemon", "-loggc"}]
    if "--version" in words:
        print("4.3.1")
        return 0
    if not words or words[0] in {"-h", "--help"}:
        print(USAGE, file=sys.stderr)
        return 0 if words else 1
    if len(words) != len(argv):
        print("kafka-server-start: -daemon and -loggc are the shell script's affair", file=sys.stderr)
        return 1
    path, rest = words[0], words[1:]
    overrides = rest[1::2]
    if len(rest) % 2 or any(flag != "--override" for flag in rest[::2]):
        print(f"Found non argument parameters: {','.join(rest)}\n{USAGE}", file=sys.stderr)
        return 1
    gc.disable()  # while modules are imported, collections look at much and find nothing: a seventh of a start
    from controller_runtime.configuration.config import ConfigError, load
    from controller_runtime.configuration.insecure import refusals

    try:
        config = load(path, overrides)
        if refused := refusals(config, os.environ):
            raise ConfigError(refused)
        from controller_runtime.server.shell import process
        from controller_runtime.server.telemetry import logs
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        gc.enable()
    gc.freeze()
    logs.set_up(config.log_format, config.log_level)
    return process.run(config)
