"""Host names into addresses, anew on every connection attempt.

Pods come back with other addresses under the same name, so nothing is cached here; what the system's resolver caches is
its own affair. A resolver is a function, so that a test can be the name service.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

Resolver = Callable[[str, int], Awaitable[Sequence[tuple[str, int]]]]
"""(host, port) -> addresses to try, in order. Raises OSError when the name is not known."""


async def system_resolver(host: str, port: int) -> Sequence[tuple[str, int]]:
    if _is_address(host):
        return ((host, port),)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except ValueError as error:
        # A name that peers tell (a voter's endpoint, a leader's) may be none: too long, an empty label, a NUL.
        raise OSError(f"{host[:80]!r} is no host name: {error}") from error
    return tuple(dict.fromkeys((str(address[0]), int(address[1])) for *_, address in found))


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return True
    return False
