"""Makes a real process meet a bad disk: put this folder on PYTHONPATH, and name a file of faults in
QUORATE_TEST_FAULTS.

Python imports `sitecustomize` before anything else. The system calls themselves are wrapped, nothing of the node. The
file is read at every call, so a test may break and mend the disk while the node runs. A line is a call, a part of the
path, and what happens:

    fdatasync .log sleep 0.5
    fdatasync .log errno 5
    pwrite .part errno 28

Each call that was let fail is noted in `<file>.seen`, and so is every later sync.
"""

import os
import time
from collections.abc import Callable
from typing import Any

FAULTS = os.environ.get("QUORATE_TEST_FAULTS", "")
_failed: list[str] = []


def _path(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _meet(call: str, descriptor: int) -> None:
    try:
        with open(FAULTS) as file:
            rules = [line.split() for line in file]
    except OSError:
        rules = []
    path = _path(descriptor)
    for rule in rules:
        if len(rule) == 4 and rule[0] == call and rule[1] in path:
            if rule[2] == "sleep":
                time.sleep(float(rule[3]))
            else:
                _note(f"{call} {path} failed")
                _failed.append(path)
                raise OSError(int(rule[3]), os.strerror(int(rule[3])), path)
    if _failed and call == "fdatasync":
        _note(f"{call} {path} after a failure of {_failed[0]}")


def _note(text: str) -> None:
    with open(f"{FAULTS}.seen", "a") as file:
        file.write(text + "\n")


def _wrapped(call: str) -> Callable[..., Any]:
    original = getattr(os, call)

    def run(descriptor: int, *arguments: Any) -> Any:
        _meet(call, descriptor)
        return original(descriptor, *arguments)

    return run


if FAULTS:
    for name in ("fdatasync", "pwrite", "pread"):
        setattr(os, name, _wrapped(name))
