"""An archive's copy in an object store: what is synced on its disk is put there, as pieces of the log and snapshots.

Beside the follower, in its own time: a store that is away keeps nobody from following. A piece is put when it is large
enough or has waited long enough; then the manifest that names it, on the condition that nobody else has replaced it.
After any problem all is begun with what the store then shows. Of two writers the one that came last goes on; the other
puts nothing any more, for as long as it runs. What is done next is decided in `steps`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, assert_never

from metadata_pipeline.archive.local import LocalLog
from metadata_pipeline.archive.manifest import (
    History,
    Manifest,
    Piece,
    Snapshot,
    Stored,
    without_outlived,
)
from metadata_pipeline.archive.objects import PART_BYTES, Objects
from metadata_pipeline.archive.opening import DIRECTORY
from metadata_pipeline.archive.problems import StoreProblem, StoreStanding
from metadata_pipeline.archive.retention import Started
from metadata_pipeline.archive.sealing import BadKeys, load_keys
from metadata_pipeline.archive.steps import (
    Asked,
    BeginAnew,
    Found,
    Here,
    Merge,
    Moment,
    PutPiece,
    PutSnapshot,
    Read,
    Step,
    Verify,
    compared,
    next_step,
)
from metadata_pipeline.archive.telling import NOTHING, StoreTelling, Telling
from metadata_pipeline.wire.files import snapshot_name
from metadata_pipeline.wire.leader import Mark

TICK_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 5.0


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
        self._started = Started(time.time(), time.monotonic())
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
        here = Here(seen.begun, seen.start, seen.mark, seen.snapshots)
        try:
            if self._objects is None:
                self._objects = self._opened(seen.cluster_id, here)
            self._ship(self._objects, seen, here, last=last)
        except StoreProblem as problem:
            self._objects = None
            if problem.standing is StoreStanding.DAMAGED:  # which it is until all was seen again
                self.telling = replace(self.telling, verified_end=NOTHING)
            self._tell(problem.standing, problem.why)
            return False
        except OSError as error:  # the disk; its follower tells it
            self._tell(self.telling.standing, f"{self._directory}: {error}")
            return False
        self._show(seen)
        return True

    def _opened(self, cluster_id: str, here: Here) -> Objects:
        objects = open_objects(self._settings)
        self._manifest = objects.take_over(cluster_id, lambda known: self._compare(objects, known, here))
        gone = objects.sweep(self._manifest)
        if gone:
            self._log(f"store: {gone} objects that nobody names were deleted")
        self._verify_at = time.monotonic() + min(30.0, self._settings.verify_seconds)
        return objects

    def _compare(self, objects: Objects, known: Manifest, here: Here) -> None:
        """What is both here and there is the same, before somebody else is refused for it."""
        for each in compared(known.now.pieces, here) if known.now.begun == here.begun else ():
            start, end = max(each.start, here.start), min(each.end, here.mark.end)
            mine = self._local.whole(start, end)
            if mine is None:
                self._no_batch_lies_across(start, end)
            elif (start, end) == (each.start, each.end):
                if sha256(mine).hexdigest() != each.stored.digest:
                    raise _forked(start, end)
            elif mine not in objects.get(each.stored):
                raise _forked(start, end)

    def _no_batch_lies_across(self, *offsets: int) -> None:
        """Where the store has the ends of batches. What was not found there is then of no other log: it has gone."""
        for each in offsets:
            if (across := self._local.across(each)) is not None:
                why = f"offsets {across[0]} to {across[1] - 1} are one batch here, and the store's ends at {each - 1}"
                raise StoreProblem(StoreStanding.FORKED, why)

    def _ship(self, objects: Objects, seen: Telling, here: Here, *, last: bool) -> None:
        asked = Asked(self._settings.piece_seconds, self._settings.piece_bytes)
        found: Found | None = None
        verify = time.monotonic() >= self._verify_at
        while step := next_step(self._manifest, here, found, asked, self._moment(here, last=last, verify=verify)):
            found = self._do(objects, step, seen)
            verify = verify and not isinstance(step, Verify)

    def _moment(self, here: Here, *, last: bool, verify: bool) -> Moment:
        now = time.monotonic()
        if self._manifest.now.mark.end >= here.mark.end:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = now
        waited = 0.0 if self._waits_since is None else now - self._waits_since
        return Moment(waited, last=last, proven=self.telling.verified_end, verify=verify)

    def _read(self, wanted: Read) -> Found:
        read = self._local.batches(wanted.start, wanted.end, self._settings.piece_bytes)
        if read is None:
            self._no_batch_lies_across(wanted.start)
            return Found(b"", Mark(wanted.start))
        return Found(*read)

    def _do(self, objects: Objects, step: Step, seen: Telling) -> Found | None:
        """What was read, if that was the step."""
        known = self._manifest.now
        match step:
            case Read():
                return self._read(step)
            case BeginAnew(snapshots):
                self._begin_anew(objects, seen, snapshots)
            case Merge(run):
                self._merge(objects, run)
            case PutPiece(found):
                self._put_piece(objects, found, seen)
            case PutSnapshot(mark):
                snapshot = self._put_snapshot(objects, mark)
                self._commit(objects, replace(known, snapshots=(*known.snapshots, snapshot)))
            case Verify():
                self._upkeep(objects)
            case _ as unknown:
                assert_never(unknown)
        return None

    def _begin_anew(self, objects: Objects, seen: Telling, snapshots: tuple[Mark, ...]) -> None:
        known, asides = self._manifest.now, self._manifest.asides
        if not known.is_empty:
            asides = (*asides, replace(known, ended=time.time()))
            self._log(f"store: the log up to offset {known.mark.end} is set aside there")
        now = History(seen.begun, seen.start, (), tuple(self._put_snapshot(objects, each) for each in snapshots))
        self._manifest = objects.commit(replace(self._manifest, now=now, asides=asides))
        self.telling = replace(self.telling, verified_end=NOTHING)

    def _put_piece(self, objects: Objects, found: Found, seen: Telling) -> None:
        known, data, mark = self._manifest.now, found.data, found.mark
        start = known.mark.end
        stored = objects.put(f"log/{start:020d}-{mark.end:020d}", data, self._manifest.writer)
        piece = Piece(start, mark.end, mark.epoch, size=len(data), level=0, stored=stored)
        epoch = max(self._manifest.leader_epoch, mark.epoch, seen.told.epoch if seen.told is not None else 0)
        self._manifest = replace(self._manifest, leader_epoch=epoch)
        self._commit(objects, replace(known, pieces=(*known.pieces, piece)))

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

    def _upkeep(self, objects: Objects) -> None:
        """What is old goes; each object is asked for, and one of them is read whole in its turn."""
        self._verify_at = time.monotonic() + self._settings.verify_seconds
        now = self._started.now(time.time(), time.monotonic())
        left = without_outlived(self._manifest, now, self._settings.keep_seconds)
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


def _forked(start: int, end: int) -> StoreProblem:
    why = f"offsets {start} to {end - 1} are not the bytes that the store has"
    return StoreProblem(StoreStanding.FORKED, why)
