"""A network of one's own: a loopback on which every port is free, whatever else runs on the machine.

For suites whose addresses are written into them. What the calling thread starts inside (threads and processes) lives
there too; outside of the block the thread is where it was.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from support.clients.programs import unavailable

NEW_NETWORK: Final = 0x4000_0000
"""CLONE_NEWNET; `os.unshare` is of Python 3.12."""


@contextmanager
def own_network() -> Iterator[None]:
    """Skips the test without the right to make one, and fails it in CI."""
    system = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open("rb") as outside:
        if system.unshare(NEW_NETWORK) != 0:
            unavailable(f"run as root: a network of its own was refused: {os.strerror(ctypes.get_errno())}")
        try:
            subprocess.run(("ip", "link", "set", "lo", "up"), check=True)
            yield
        finally:
            assert system.setns(outside.fileno(), NEW_NETWORK) == 0, os.strerror(ctypes.get_errno())
