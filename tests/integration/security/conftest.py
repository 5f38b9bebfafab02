"""Both loops have an implementation of TLS of their own: every story is told on each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from controller_runtime.server.shell.process import loop_factory


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": loop_factory()}
