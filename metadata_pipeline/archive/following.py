"""The loop: read what is new, sync, now and then read the disk whole, take a snapshot to restore from, let go what is
old. A shell: what has to be decided is decided in `retention`, `opening` and `examining`.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from controller_runtime.storage.errors import StorageError
from metadata_pipeline.archive.examining import examine, listed
from metadata_pipeline.archive.fetching import fill_empty
from metadata_pipeline.archive.keeping import SEGMENT_BYTES, Keeper
from metadata_pipeline.archive.memory import Verified
from metadata_pipeline.archive.opening import DIRECTORY, asides, open_archive
from metadata_pipeline.archive.problems import HOLDS, OF_FAULTS, ArchiveError, Standing, StoreProblem
from metadata_pipeline.archive.retention import Started, outlived
from metadata_pipeline.archive.shipping import Shipper, StoreSettings
from metadata_pipeline.archive.telling import Telling
from metadata_pipeline.wire.fleet import Quorum
from metadata_pipeline.wire.leader import Told
from metadata_pipeline.wire.reading import Ended, read_on, read_snapshot

SESSION_SECONDS: Final = 60.0
"""So long one connection is read from: then credentials are read anew, and whoever leads is looked up."""
RETRY_SECONDS: Final = 5.0
FIRST_SECONDS: Final = 30.0
"""After its start the disk is read whole again so soon: with what came while it was away."""
HOLD_SECONDS: Final = 60.0
"""Between two looks at a disk that a person has to mend: each reads it whole."""


@dataclass(frozen=True, slots=True)
class Settings:
    home: Path
    quorum: Quorum
    begin: str = ""
    keep_seconds: float | None = None
    poll_seconds: float = 1.0
    verify_seconds: float = 600.0
    snapshot_seconds: float = 3600.0
    """How often the quorum is asked for a newer snapshot."""
    segment_bytes: int = SEGMENT_BYTES
    bytes_per_second: int | None = None
    store: StoreSettings | None = None


@dataclass(slots=True)
class _Due:
    """When something is to be done next, by the monotonic clock."""

    every: float
    at: float = field(default_factory=lambda: float("-inf"))

    def now(self) -> bool:
        """Whether it is; then the next time is set."""
        if time.monotonic() < self.at:
            return False
        self.at = time.monotonic() + self.every
        return True


class Follower:
    """`now` is always what is so; `log` is given what changes, a line each."""

    def __init__(self, settings: Settings, log: Callable[[str], None]) -> None:
        self.telling = Telling()
        self._settings = settings
        self._started = Started(time.time(), time.monotonic())
        self._log = log
        self._keeper: Keeper | None = None
        self._verification = _Due(
            settings.verify_seconds, time.monotonic() + min(FIRST_SECONDS, settings.verify_seconds)
        )
        self._snapshot = _Due(settings.snapshot_seconds)
        self._session_ends = 0.0
        store = settings.store
        self._shipper = Shipper(settings.home, store, lambda: self.telling, log) if store is not None else None

    def now(self) -> Telling:
        return replace(self.telling, store=self._shipper.telling if self._shipper is not None else None)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`. Raises nothing that a quorum, a disk or a store can cause."""
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            if self._shipper is not None:
                tasks.create_task(self._shipper.run(ended))
            try:
                await self._follow(stop)
            finally:
                ended.set()

    async def _follow(self, stop: asyncio.Event) -> None:
        try:
            while not stop.is_set():
                try:
                    await self._round(stop)
                except (OSError, StorageError) as error:
                    self._gave_up(Standing.DISK_FAILED, str(error))
                except ArchiveError as error:
                    self._gave_up(error.standing, error.why)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _pause(self.telling.standing))
        finally:
            if self._keeper is not None:
                self._keeper.close()

    def _gave_up(self, standing: Standing, why: str) -> None:
        """What was written since the last sync may be anything: the archive is opened and examined anew."""
        if self._keeper is not None:
            keeper, self._keeper = self._keeper, None
            with suppress(OSError):
                keeper.abandon()
        self._tell(standing, why)

    async def _round(self, stop: asyncio.Event) -> None:
        asked = self._settings
        if self._keeper is None:
            await asyncio.to_thread(self._fill)
            opened = await asyncio.to_thread(
                open_archive, asked.home, asked.quorum.cluster_id, asked.begin, time.time()
            )
            self._keeper = Keeper(opened, segment_bytes=asked.segment_bytes)
            self._show(self._keeper)
        keeper = self._keeper
        cluster = keeper.memory.cluster_id or asked.quorum.cluster_id
        if not cluster:
            ended = await read_on(asked.quorum, None, keeper.mark, lambda _: False)
            if ended.cluster_id is None:
                self._ended(ended)
                return
            cluster = ended.cluster_id
        keeper.belongs_to(cluster)
        self._session_ends = time.monotonic() + SESSION_SECONDS

        async def again(told: Told | None) -> bool:
            await self._caught_up(keeper, told)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), asked.poll_seconds)
            return not stop.is_set() and time.monotonic() < self._session_ends and not self._is_due(keeper)

        rate = asked.bytes_per_second
        ended = await read_on(asked.quorum, cluster, keeper.mark, keeper.take, bytes_per_second=rate, again=again)
        keeper.sync(time.monotonic())
        self._ended(ended)
        if ended.fault is None:
            await self._upkeep(keeper, cluster)

    def _fill(self) -> None:
        """An empty disk is filled with what its store has. Raises ArchiveError, OSError."""
        asked = self._settings
        if asked.store is None:
            return
        try:
            found = fill_empty(asked.home, asked.store, asked.quorum.cluster_id, asked.begin)
        except StoreProblem as problem:
            raise ArchiveError(Standing.STORE_AWAY, f"{problem.standing.value}: {problem.why}") from problem
        if found is not None:
            self._log(f"store: the disk was empty and has its log up to offset {found.end} now")

    def _is_due(self, keeper: Keeper) -> bool:
        return keeper.is_unproven or time.monotonic() >= min(self._verification.at, self._snapshot.at)

    async def _caught_up(self, keeper: Keeper, told: Told | None) -> None:
        await asyncio.to_thread(keeper.sync, time.monotonic())
        now = time.time()
        self.telling = replace(
            self.telling, mark=keeper.mark, start=keeper.start, size_bytes=keeper.size_bytes, told=told, contact=now
        )
        if keeper.has_news:
            keeper.has_news = False
            self._show(keeper)
        if told is None or keeper.mark.end >= told.high_watermark:
            self.telling = replace(self.telling, caught_up=now)
        self._tell(Standing.FOLLOWING, "")

    def _ended(self, ended: Ended) -> None:
        if ended.fault is not None:
            self._tell(OF_FAULTS.get(ended.fault, Standing.MALFORMED), ended.why)

    async def _upkeep(self, keeper: Keeper, cluster: str) -> None:
        if keeper.is_unproven or self._verification.now():
            await asyncio.to_thread(self._verify, keeper)
        if self._snapshot.now():
            newest = max((each.end for each in listed(keeper.directory).snapshots), default=0)
            asked = self._settings
            rate = asked.bytes_per_second
            self._ended(
                await read_snapshot(asked.quorum, cluster, keeper.mark, newest, keeper.take, bytes_per_second=rate)
            )
            await asyncio.to_thread(self._let_go, keeper)
        self._show(keeper)

    def _verify(self, keeper: Keeper) -> None:
        keeper.sync(time.monotonic())
        found = examine(keeper.directory, keeper.memory.verified)
        if found.flaw is not None:
            raise ArchiveError(Standing.TRUNCATED if found.flaw.missing else Standing.DAMAGED, str(found.flaw))
        if found.mark != keeper.mark:
            why = f"{keeper.directory} ends at offset {found.mark.end}, and {keeper.mark.end} was written"
            raise ArchiveError(Standing.TRUNCATED, why)
        keeper.verified(Verified(found.start, found.mark.end, found.mark.epoch, found.digest, at=time.time()))

    def _let_go(self, keeper: Keeper) -> None:
        now, keep = self._started.now(time.time(), time.monotonic()), self._settings.keep_seconds
        gone = outlived(listed(keeper.directory), keeper.snapshots_taken(), now, keep)
        if gone.segments or gone.snapshots:
            keeper.drop(gone)
            self._log(f"let go {len(gone.segments)} segments and {len(gone.snapshots)} snapshots")
        for each in asides(keeper.home):
            newest = max((file.stat().st_mtime for file in (each / DIRECTORY).glob("*")), default=0.0)
            if keep is not None and newest <= now - keep:
                shutil.rmtree(each)
                self._log(f"let go {each.name}")

    def _show(self, keeper: Keeper) -> None:
        self.telling = replace(
            self.telling, cluster_id=keeper.memory.cluster_id, begun=keeper.memory.begun, start=keeper.start,
            mark=keeper.mark, size_bytes=keeper.size_bytes, snapshots=listed(keeper.directory).snapshots,
            asides=len(asides(keeper.home)), verified=keeper.memory.verified,
        )  # fmt: skip

    def _tell(self, standing: Standing, why: str) -> None:
        if (standing, why) != (self.telling.standing, self.telling.why):
            at = f" at offset {self.telling.mark.end}" if self.telling.mark.end >= 0 else ""
            self._log(f"{standing.value}{at}{': ' if why else ''}{why}")
        self.telling = replace(self.telling, standing=standing, why=why)


def _pause(standing: Standing) -> float:
    if standing is Standing.FOLLOWING:
        return 0.0
    return HOLD_SECONDS if standing in HOLDS else RETRY_SECONDS
