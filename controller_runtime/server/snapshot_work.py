"""Snapshots of this node's own, written by a thread while the event loop goes on.

The image is immutable, so the thread reads it while the loop makes the next one. It is polite: after each batch it rests as long as that batch
took, so the loop has the interpreter at least half of the time, and what the thread holds it gives up within Python's switch interval.
Nothing is decided here: what the disk refuses, other than room, is a fault of the driver.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from controller_runtime.node.effects import TakeSnapshot
from controller_runtime.node.events import NodeEvent, SnapshotGivenUp, SnapshotWritten
from controller_runtime.server.disk_thread import DiskThread
from controller_runtime.storage import snapshot_writer
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.snapshot_writer import SnapshotWrite

log = logging.getLogger(__name__)

_LONGEST_REST_SECONDS: Final = 0.02


class SnapshotWork:
    def __init__(
        self,
        metadata_log: MetadataLog,
        loop: asyncio.AbstractEventLoop,
        feed: Callable[[NodeEvent], None],
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
        from controller_runtime.node.snapshot_content import content

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

    @property
    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        """Give up what is being written, and let go of the thread."""
        self._closing = True
        self._thread.close()


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
