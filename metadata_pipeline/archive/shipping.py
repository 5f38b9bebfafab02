"""An archive's copy in an object store: what is synced on its disk is put there, as pieces of the log and snapshots.

Beside the follower, in its own time: a store that is away keeps nobody from following. A piece is put when it is large
enough or has waited long enough; then the manifest that names it, on the condition that nobody else has replaced it.
After any problem all is begun with what the store then shows. Of two writers the one that came last goes on; the other
puts nothing any more, for as long as it runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from metadata_pipeline.archive.local import LocalLog
from metadata_pipeline.archive.manifest import (
    History,
    Manifest,
    Piece,
    Snapshot,
    Stored,
    due_for_merging,
    without_outlived,
)
from metadata_pipeline.archive.objects import PART_BYTES, Objects
from metadata_pipeline.archive.opening import DIRECTORY
from metadata_pipeline.archive.problems import StoreProblem, StoreStanding
from metadata_pipeline.archive.sealing import BadKeys, load_keys
from metadata_pipeline.archive.telling import StoreTelling, Telling
from metadata_pipeline.wire.files import snapshot_name
from metadata_pipeline.wire.leader import Mark

TICK_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 5.0
COMPARED: Final = 8
"""So many of the last pieces are compared with what is on the disk when the store is taken over."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    url: str
    keys: Path | None = None
    """A directory of keys; None: what is put is not encrypted here."""
    credentials: Path | None = None
    """A directory with AWS_ACCESS_KEY_ID and so on; None: the environment has them."""
    piece_seconds: float = 30.0
    """So long the oldest record waits before a piece is put."""
    piece_bytes: int = 8 << 20
    verify_seconds: float = 600.0
    keep_seconds: float | None = None


def open_objects(settings: StoreSettings) -> Objects:
    """Raises StoreProblem."""
    try:
        keys = None if settings.keys is None else load_keys(settings.keys)
    except (BadKeys, OSError) as error:
        raise StoreProblem(StoreStanding.BAD_KEYS, str(error)) from error
    return Objects(settings.url, keys, settings.credentials)


class Shipper:
    """`seen` is what the follower says of the archive; `telling` is what is so of the store."""

    def __init__(
        self, home: Path, settings: StoreSettings, seen: Callable[[], Telling], log: Callable[[str], None]
    ) -> None:
        self.telling = StoreTelling(settings.url)
        self._directory = home / DIRECTORY
        self._settings = settings
        self._seen = seen
        self._log = log
        self._objects: Objects | None = None
        self._local = LocalLog(self._directory)
        self._manifest = Manifest("")
        self._waits_since: float | None = None
        self._verify_at = 0.0
        self._looked_at = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; what is synced then is put before it ends. Raises nothing that a store can cause."""
        while not stop.is_set() and self.telling.standing is not StoreStanding.IN_USE:
            well = await asyncio.to_thread(self.step)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TICK_SECONDS if well else RETRY_SECONDS)
        if self._objects is not None:
            await asyncio.to_thread(self.step, last=True)

    def step(self, *, last: bool = False) -> bool:
        """Do what is due; whether all is well."""
        seen = self._seen()
        if self.telling.standing is StoreStanding.IN_USE:
            return False
        if not seen.cluster_id or seen.mark.end < 0:
            return True
        try:
            if self._objects is None:
                self._open(seen)
            self._ship(seen, at_once=last)
            if time.monotonic() >= self._verify_at:
                self._upkeep()
        except StoreProblem as problem:
            self._objects = None
            self._tell(problem.standing, problem.why)
            return False
        except OSError as error:  # the disk; its follower tells it
            self._tell(self.telling.standing, f"{self._directory}: {error}")
            return False
        self._show(seen)
        return True

    def _open(self, seen: Telling) -> None:
        objects = open_objects(self._settings)
        self._manifest = objects.take_over(seen.cluster_id, lambda known: self._compare(known, seen))
        if self._is_another(seen):
            self._begin_anew(objects, seen)
        gone = objects.sweep(self._manifest)
        if gone:
            self._log(f"store: {gone} objects that nobody names were deleted")
        self._objects = objects
        self._verify_at = time.monotonic() + min(30.0, self._settings.verify_seconds)

    def _begin_anew(self, objects: Objects, seen: Telling) -> None:
        known = self._manifest.now
        if known.is_empty and known.begun == seen.begun and known.start == seen.start:
            return
        asides = self._manifest.asides
        if not known.is_empty:
            asides = (*asides, replace(known, ended=time.time()))
            self._log(f"store: the log up to offset {known.mark.end} is set aside there")
        start = seen.start
        snapshots = tuple(self._put_snapshot(objects, each) for each in seen.snapshots if each.end >= start > 0)
        now = History(seen.begun, start, (), snapshots)
        self._manifest = objects.commit(replace(self._manifest, now=now, asides=asides))

    def _is_another(self, seen: Telling) -> bool:
        """Whether what is here does not go on with what is there."""
        known = self._manifest.now
        return known.begun != seen.begun or seen.start > known.mark.end

    def _compare(self, known: Manifest, seen: Telling) -> None:
        """What is both here and there is the same, before somebody else is refused for it."""
        for each in known.now.pieces[-COMPARED:] if known.now.begun == seen.begun else ():
            here = self._local.whole(each.start, each.end)
            if here is not None and sha256(here).hexdigest() != each.stored.digest:
                why = f"offsets {each.start} to {each.end - 1} are not the bytes that the store has"
                raise StoreProblem(StoreStanding.FORKED, why)

    def _ship(self, seen: Telling, *, at_once: bool) -> None:
        objects = self._objects
        assert objects is not None
        if self._is_another(seen):
            self._begin_anew(objects, seen)
        while (end := self._manifest.now.mark.end) < seen.mark.end:
            found = self._local.batches(end, seen.mark.end, self._settings.piece_bytes)
            if found is None:
                return
            data, mark = found
            full = len(data) >= self._settings.piece_bytes // 2 and mark.end < seen.mark.end
            if not (full or at_once or self._has_waited()):
                return
            self._put_piece(objects, data, mark, seen)
            self._waits_since = None if mark.end >= seen.mark.end else self._waits_since
        newest = max((each.mark.end for each in self._manifest.now.snapshots), default=-1)
        for each in seen.snapshots:
            if each.end > newest and self._manifest.now.start <= each.end <= self._manifest.now.mark.end:
                snapshot = self._put_snapshot(objects, each)
                self._commit(objects, replace(self._manifest.now, snapshots=(*self._manifest.now.snapshots, snapshot)))

    def _has_waited(self) -> bool:
        now = time.monotonic()
        if self._waits_since is None:
            self._waits_since = now
        return now - self._waits_since >= self._settings.piece_seconds

    def _put_piece(self, objects: Objects, data: bytes, mark: Mark, seen: Telling) -> None:
        known = self._manifest.now
        start = known.mark.end
        stored = objects.put(f"log/{start:020d}-{mark.end:020d}", data, self._manifest.writer)
        piece = Piece(start, mark.end, mark.epoch, size=len(data), level=0, stored=stored)
        epoch = max(self._manifest.leader_epoch, mark.epoch, seen.told.epoch if seen.told is not None else 0)
        self._manifest = replace(self._manifest, leader_epoch=epoch)
        self._commit(objects, replace(known, pieces=(*known.pieces, piece)))
        while run := due_for_merging(self._manifest.now.pieces):
            self._merge(objects, run)

    def _merge(self, objects: Objects, run: tuple[Piece, ...]) -> None:
        data = b"".join(self._bytes_of(objects, each) for each in run)
        first, final = run[0], run[-1]
        stored = objects.put(f"log/{first.start:020d}-{final.end:020d}", data, self._manifest.writer)
        level = first.level + 1
        merged = Piece(first.start, final.end, final.epoch, size=len(data), level=level, stored=stored)
        known = self._manifest.now
        self._commit(objects, replace(known, pieces=(*known.pieces[: -len(run)], merged)))

    def _bytes_of(self, objects: Objects, piece: Piece) -> bytes:
        """From the disk if they are there and the same."""
        here = self._local.whole(piece.start, piece.end)
        if here is not None and sha256(here).hexdigest() == piece.stored.digest:
            return here
        return objects.get(piece.stored)

    def _put_snapshot(self, objects: Objects, mark: Mark) -> Snapshot:
        path, parts = self._directory / snapshot_name(mark), list[Stored]()
        with path.open("rb") as file:
            while data := file.read(PART_BYTES):
                kind = f"snapshots/{mark.end:020d}-{mark.epoch:010d}-{len(parts):04d}"
                parts.append(objects.put(kind, data, self._manifest.writer))
        return Snapshot(mark, path.stat().st_mtime, tuple(parts))

    def _commit(self, objects: Objects, now: History) -> None:
        """The manifest first, then what it names no more goes."""
        self._replace(objects, replace(self._manifest, now=now))

    def _replace(self, objects: Objects, made: Manifest) -> None:
        before = self._manifest.objects
        self._manifest = objects.commit(made)
        named = {each.name for each in self._manifest.objects}
        objects.delete(tuple(each for each in before if each.name not in named))

    def _upkeep(self) -> None:
        """What is old goes; each object is asked for, and one of them is read whole in its turn."""
        objects = self._objects
        assert objects is not None
        self._verify_at = time.monotonic() + self._settings.verify_seconds
        left = without_outlived(self._manifest, time.time(), self._settings.keep_seconds)
        if left != self._manifest:
            self._replace(objects, left)
            self._log("store: let go what is older than the retention")
        for each in self._manifest.objects:
            if not objects.has(each):
                self._mend(objects, each)
        if every := self._manifest.objects:
            self._looked_at = (self._looked_at + 1) % len(every)
            objects.get(every[self._looked_at])
        self.telling = replace(self.telling, verified=time.time(), verified_end=self._manifest.now.mark.end)

    def _mend(self, objects: Objects, lost: Stored) -> None:
        """A piece that the store lost is put again from the disk; nothing else can be."""
        for number, piece in enumerate(self._manifest.now.pieces):
            here = self._local.whole(piece.start, piece.end) if piece.stored == lost else None
            if here is not None and sha256(here).hexdigest() == lost.digest:
                stored = objects.put(f"log/{piece.start:020d}-{piece.end:020d}", here, self._manifest.writer)
                pieces = list(self._manifest.now.pieces)
                pieces[number] = replace(piece, stored=stored)
                self._commit(objects, replace(self._manifest.now, pieces=tuple(pieces)))
                self._log(f"store: it lost {lost.name}, which was put again from the disk")
                return
        raise StoreProblem(StoreStanding.DAMAGED, f"{lost.name} of {objects.url} is not there, or not whole")

    def _show(self, seen: Telling) -> None:
        manifest, now = self._manifest, time.time()
        end = manifest.now.mark.end
        keys = tuple(sorted({each.key for each in manifest.objects}))
        self.telling = replace(
            self.telling, start=manifest.now.start, end=end, objects=len(manifest.objects), keys=keys,
            size_bytes=manifest.size_bytes, contact=now, asides=len(manifest.asides), lag=max(0, seen.mark.end - end),
        )  # fmt: skip
        self._tell(StoreStanding.SHIPPING, "")

    def _tell(self, standing: StoreStanding, why: str) -> None:
        if (standing, why) != (self.telling.standing, self.telling.why):
            self._log(f"store: {standing.value}{': ' if why else ''}{why}")
        self.telling = replace(self.telling, standing=standing, why=why)
