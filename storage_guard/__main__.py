"""`storage-guard inspect | gate | seal`: one init container each; `survey | recover | set-aside`: a helper pod
(`helping`).

A guard waits, prints why it waits, and never exits to refuse.

The only reasons to end are: done (0), the pod is being deleted (SIGTERM), and a manifest that is not ours (2). As
process 1 of its container it must handle SIGTERM itself, or every deletion of a waiting pod would take the whole grace
period.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import FrameType
from typing import Final

from controller_runtime.storage.filesystem import OsFileSystem
from storage_guard.copies import Helper
from storage_guard.formats import GuardStep, Report
from storage_guard.helping import help_out
from storage_guard.passage import Hold
from storage_guard.pod import BadEnvironment, Environment
from storage_guard.steps import Guard

_TERMINATION_LOG: Final = "/dev/termination-log"
_POLL_SECONDS: Final = 0.2
_LOOK_AGAIN_SECONDS: Final = 15.0
"""The volume is read anew this often although nothing around it changed."""
_CONFIG_PATIENCE_SECONDS: Final = 30.0
"""A kubelet shows a changed ConfigMap to a new pod at once, or within this time; then the mounted one is taken."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    signal.signal(signal.SIGTERM, _end)
    if len(arguments) == 1 and arguments[0] in list(Helper):
        return _help(Helper(arguments[0]))
    if len(arguments) != 1 or arguments[0] not in list(GuardStep):
        print(f"usage: storage-guard {' | '.join((*GuardStep, *Helper))}", file=sys.stderr)
        return 2
    try:
        guard = Guard.of(OsFileSystem(), Environment.read(os.environ))
    except BadEnvironment as error:
        print(f"storage-guard: {error}", file=sys.stderr)
        return 2
    report = run(guard, GuardStep(arguments[0]))
    _tell(report.to_json(), os.environ.get("TERMINATION_LOG", _TERMINATION_LOG))
    return 0


def _help(what: Helper) -> int:
    now, date = int(time.time() * 1000), datetime.now(UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    succeeded, line = help_out(OsFileSystem(), what, os.environ, now, date)
    _tell(line, os.environ.get("TERMINATION_LOG", _TERMINATION_LOG))
    return 0 if succeeded else 1


def run(guard: Guard, step: GuardStep) -> Report:
    match step:
        case GuardStep.INSPECT:
            return guard.inspect()
        case GuardStep.GATE:
            begun = time.monotonic()

            def look() -> Report | Hold:
                return guard.look_through_gate(patient=time.monotonic() - begun < _CONFIG_PATIENCE_SECONDS)

            return _wait(guard, look)
        case GuardStep.SEAL:
            return _wait(guard, guard.look_for_seal)


def _wait(guard: Guard, look: Callable[[], Report | Hold]) -> Report:
    said: Hold | None = None
    while True:
        inputs, looked = guard.inputs(), time.monotonic()
        outcome = look()
        if not isinstance(outcome, Hold):
            return outcome
        if outcome != said:
            print(f"waiting: {outcome.reason}: {outcome.message}", flush=True)
            said = outcome
        while guard.inputs() == inputs and time.monotonic() - looked < _LOOK_AGAIN_SECONDS:
            time.sleep(_POLL_SECONDS)


def _tell(line: str, termination_log: str) -> None:
    print(line, flush=True)
    try:
        with open(termination_log, "w", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        # The line is in the log of the container, too; the operator asks for a termination message and will say that it
        # lacks.
        print(f"cannot write {termination_log}: {error.strerror}", file=sys.stderr)


def _end(_signal: int, _frame: FrameType | None) -> None:
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
