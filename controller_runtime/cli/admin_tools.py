"""What the tools that talk to a cluster have in common: the client's life, and errors as Java's exceptions say them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable

from controller_runtime.admin.client import AdminClient, AdminError
from controller_runtime.admin.connections import NotSupported
from controller_runtime.cli import progress
from controller_runtime.cli.bootstrap import BadCommand, choose
from controller_runtime.cli.java_errors import java_text, timeout_text
from controller_runtime.protocol.api_errors import ApiError

PACKAGE = "org.apache.kafka.common.errors."


class Failed(Exception):
    """A tool's own refusal: its words are all that is said."""


def exception_text(error: Exception) -> str:
    """As `Throwable.toString` in Java."""
    if isinstance(error, ApiError):
        return java_text(error)
    if isinstance(error, NotSupported):
        return f"{PACKAGE}UnsupportedVersionException: {error}"
    return timeout_text(str(error))


def complain(error: object) -> int:
    """On standard error, exit code 1."""
    sys.stdout.flush()
    print(error, file=sys.stderr)
    return 1


def with_admin(
    servers: str | None,
    controllers: str | None,
    command_config: str | None,
    act: Callable[[AdminClient], Awaitable[int | None]],
    timeout_seconds: float | None = None,
) -> int:
    """Run `act` on a client and give its exit code (None is 0). Raises BadCommand, Failed, ApiError, AdminError."""

    async def run() -> int:
        async with choose(servers, controllers, command_config).admin() as admin:
            client = admin if timeout_seconds is None else admin.with_timeout(timeout_seconds)
            return await act(client) or 0

    return progress.run(run())


__all__ = ["AdminError", "ApiError", "BadCommand", "Failed", "complain", "exception_text", "with_admin"]
