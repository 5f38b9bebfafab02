"""Bytes that the disk gave back changed: when it is looked for, and what a finding means.

What is closed and flushed is read again slice by slice, slowly; reads on behalf of followers are verified as well. A
batch that fails was committed (what may not be committed yet is served from memory), so the image of this node still
holds it: the node says so loudly, closes its active segment, writes a snapshot once its image has reached that point,
and lets the log begin there, which removes every file that can be damaged. Until then nothing of the damaged place is
served. A damaged tail that is not committed ends the process (`MetadataReplica`). At a start there is no image yet:
then recovery refuses, and the disk must be replaced.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Instant
from controller_runtime.node.quorum.effects import QuorumEffect, RollLog, ScrubLog
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.snapshots import SnapshotKeeper
from controller_runtime.parts.effects import Log

SCRUB_BYTES: Final = 1 << 20
_NEVER: Final = Instant(float("inf"))


class Scrubber:
    """One per metadata log."""

    def __init__(self, scrub_interval_ms: int, meta: MetadataReplica, keeper: SnapshotKeeper, now: Instant) -> None:
        """`scrub_interval_ms` lies between two slices of SCRUB_BYTES; 0: never."""
        self._interval_s = scrub_interval_ms / 1000
        self._meta = meta
        self._keeper = keeper
        self._scrub_at = self._next(now)
        self._known: set[str] = set()

    def _next(self, now: Instant) -> Instant:
        return Instant(now + self._interval_s) if self._interval_s else _NEVER

    def next_deadline(self) -> Instant:
        return self._scrub_at

    def poll(self, now: Instant) -> list[QuorumEffect]:
        """After every step."""
        out: list[QuorumEffect] = []
        if self._meta.serving.unreadable:
            found = self._meta.serving.take_unreadable()
            for text in found:
                out += self.found(text)
        if now >= self._scrub_at:
            self._scrub_at = _NEVER  # until this slice is read
            out.append(ScrubLog(SCRUB_BYTES))
        return out

    def scrubbed(self, damage: str | None, now: Instant) -> list[QuorumEffect]:
        self._scrub_at = self._next(now)
        return [] if damage is None else self.found(damage)

    def found(self, text: str) -> list[QuorumEffect]:
        """`text` names the file and the place; each place counts once."""
        if text in self._known:
            return []
        self._known.add(text)
        self._keeper.damages += 1
        self._keeper.renew(self._meta.end_offset)
        advice = "this disk has lost what it was given: it is not served, a snapshot will replace it; check the disk"
        return [Log("error", f"metadata log corruption: {text}; {advice}"), RollLog()]
