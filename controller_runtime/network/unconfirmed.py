"""What a peer has not confirmed of what the kernel took for it: a megabyte at a time, which may take minutes."""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios


def unconfirmed_bytes(transport: asyncio.BaseTransport) -> int:
    own = transport.get_extra_info("socket")
    return int.from_bytes(fcntl.ioctl(own.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
