"""Clients that write without pause while a quorum is shaken: each sets one configuration after the other, every one
under a name of its own.

A change counts as acknowledged when the answer came; an outcome that is unknown is asked for again, under the same
name, until it is acknowledged. So at the end every acknowledged name must be there, whoever leads, and the time between
two acknowledgements shows how long the quorum could not commit.

    with ConfigLoad(quorum.bootstrap) as load:
        load.wait_for(50)
        ...
    load.names                       # acknowledged
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from itertools import count, pairwise
from types import TracebackType
from typing import Final, Self

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.results import ConfigChange, ConfigResource
from support.nodes.processes import eventually

ALL_BROKERS: Final = ConfigResource(4, "")
PREFIX: Final = "load."


class ConfigLoad:
    def __init__(self, bootstrap: str, *, writers: int = 2, pause_s: float = 0.01, first: int = 0) -> None:
        self.bootstrap = bootstrap
        self.acknowledged: dict[str, float] = {}
        """Name -> when the answer came, on the monotonic clock."""
        self.failures: Counter[str] = Counter()
        self.longest_in_vain: tuple[float, str] = (0.0, "nothing")
        """Seconds of the attempt that waited longest and failed, and for what: a client's pause is not always the
        quorum's.
        """
        self._writers = writers
        self._pause_s = pause_s
        self._first = first
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._crash: BaseException | None = None

    @property
    def names(self) -> set[str]:
        return set(self.acknowledged)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the clients do not end"
        if self._crash is not None and error is None:
            raise self._crash

    def wait_for(self, more: int, seconds: float = 120.0) -> None:
        """Until this many further changes are acknowledged."""
        goal = len(self.acknowledged) + more
        eventually(f"{more} more changes", lambda: self._crash is not None or len(self.acknowledged) >= goal, seconds)

    def longest_pause_s(self, since: float, until: float | None = None) -> float:
        """Between two acknowledgements, from the last one before `since` on."""
        times = sorted(self.acknowledged.values())
        end = times[-1] if until is None else until
        before = max((at for at in times if at <= since), default=since)
        shown = [at for at in times if before <= at <= end]
        return max((later - earlier for earlier, later in pairwise(shown)), default=0.0)

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for writer in range(self._writers):
                    group.create_task(self._write(writer))
        except BaseException as error:
            self._crash = error
            raise

    async def _write(self, writer: int) -> None:
        async with AdminClient(bootstrap_controllers=self.bootstrap, timeout_seconds=5.0) as admin:
            for number in count(self._first):
                name = f"{PREFIX}{writer}.{number:06}"
                while not self._stopping.is_set():
                    asked = time.monotonic()
                    try:
                        results = await admin.incremental_alter_configs(
                            {ALL_BROKERS: [ConfigChange(name, str(number))]}
                        )
                    except (AdminError, ApiError) as error:
                        self.failures[type(error).__name__] += 1
                        self.longest_in_vain = max(self.longest_in_vain, (time.monotonic() - asked, str(error)))
                        continue
                    refusal = results[ALL_BROKERS]
                    if refusal is None:
                        self.acknowledged[name] = time.monotonic()
                        break
                    self.failures[type(refusal).__name__] += 1
                    await asyncio.sleep(0.05)
                if self._stopping.is_set():
                    return
                await asyncio.sleep(self._pause_s)


def read_back(controller: str, seconds: float = 60.0) -> set[str]:
    """The names that the controller at this address knows now."""

    async def ask() -> set[str]:
        async with AdminClient(bootstrap_controllers=controller, timeout_seconds=seconds) as admin:
            found = await admin.describe_configs([ALL_BROKERS])
        entries = found[ALL_BROKERS]
        if isinstance(entries, ApiError):
            raise entries
        return {one.name for one in entries if one.name.startswith(PREFIX)}

    return asyncio.run(ask())


def now() -> float:
    return time.monotonic()
