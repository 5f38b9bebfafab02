"""Snapshots of this node's own, written by a thread while the event loop goes on.

The image is immutable, so the thread reads it while the loop makes the next one. It is polite: after each batch it
rests as long as that batch took, so the loop has the interpreter at least half of the time, and what the thread holds
it gives up within Python's switch interval. Nothing is decided here: what the disk refuses, other than room, is a fault
of the driver.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Final

from controller_runtime.node.quorum.effects import TakeSnapshot
from controller_runtime.node.quorum.events import LogScrubbed, QuorumEvent, SnapshotGivenUp, SnapshotWritten
from controller_runtime.server.shell.disk_thread import DiskThread
from controller_runtime.storage import snapshot_writer
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.snapshot_writer import SnapshotWrite

log = logging.getLogger(__name__)

_LONGEST_REST_SECONDS: Final = 0.1
_BEYOND: Final = 1 << 62
"""Past the end of any file: the rest of a damaged one is not read again in this round."""


class SnapshotWork:
    def __init__(
        self,
        metadata_log: MetadataLog,
        loop: asyncio.AbstractEventLoop,
        feed: Callable[[QuorumEvent], None],
        fault: Callable[[BaseException], None],
    ) -> None:
        self._log = metadata_log
        self._thread = DiskThread("snapshot", loop)
        self._feed = feed
        self._fault = fault
        self._closing = False

    def take(self, asked: TakeSnapshot) -> None:
        write = self._log.begin_snapshot(asked.snapshot_id)
        if write is None:
            reason = "there is one, or the log begins later"
            self._thread.submit(lambda: None, lambda _: self._feed(SnapshotGivenUp(asked.snapshot_id, reason)))
            return
        sizes: list[int] = []
        self._thread.submit(
            lambda: sizes.append(self._write(write, asked)), lambda failure: self._written(write, sizes, failure)
        )

    def _write(self, write: SnapshotWrite, asked: TakeSnapshot) -> int:
        from controller_runtime.node.quorum.snapshot_content import content

        lost: set[str] = set()
        size = write.perform(content(asked, lost.add), _Rests(self).rest)
        for what in sorted(lost):
            log.warning("snapshot %s leaves out what its metadata.version cannot say: %s", asked.snapshot_id, what)
        return size

    def _written(self, write: SnapshotWrite, sizes: list[int], failure: BaseException | None) -> None:
        match failure:
            case None:
                self._log.snapshot_written(write, sizes[0])
                self._feed(SnapshotWritten(write.snapshot_id, sizes[0]))
            case snapshot_writer.SnapshotGivenUp():
                self._feed(SnapshotGivenUp(write.snapshot_id, str(failure)))
            case _:
                self._fault(failure)

    def scrub(self, max_bytes: int) -> None:
        """Read a slice again from the platter: what the page cache holds of it is dropped first."""
        found = self._log.begin_scrub(max_bytes)
        reached: list[int] = []

        def read() -> None:
            if found is not None:
                drop_from_cache(found.path, found.position, found.max_bytes)
                reached.append(found.perform())

        def done(failure: BaseException | None) -> None:
            match failure:
                case None:
                    if found is not None:
                        self._log.scrubbed(found, reached[0])
                    self._feed(LogScrubbed(None))
                case CorruptFile():
                    if found is not None:
                        self._log.scrubbed(found, _BEYOND)
                    self._feed(LogScrubbed(str(failure)))
                case _:
                    self._fault(failure)

        self._thread.submit(read, done)

    @property
    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        """Give up what is being written, and let go of the thread."""
        self._closing = True
        self._thread.close()


def drop_from_cache(path: str, position: int, size: int) -> None:
    """Let the next read of these bytes come from the disk; as far as the system takes the advice."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.posix_fadvise(descriptor, position, size, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


class _Rests:
    """The thread's pauses: as long as its last piece of work, within a bound."""

    def __init__(self, work: SnapshotWork) -> None:
        self._work = work
        self._since = time.monotonic()

    def rest(self) -> None:
        if self._work.is_closing:
            raise snapshot_writer.SnapshotGivenUp("the node stops")
        time.sleep(min(time.monotonic() - self._since, _LONGEST_REST_SECONDS))
        self._since = time.monotonic()
