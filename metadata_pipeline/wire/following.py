"""Living quorums looked at again and again: how far each was read is a text, and what lies between two of them is files
in memory.

Everything is read here, beside whoever plans, so credentials go to no other machine. What was planned and is asked for
again (a restart from a checkpoint) is read again, exactly that far; where its quorum has trimmed it meanwhile, a flaw
says so and reading goes on behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from metadata_pipeline.problems import PipelineError
from metadata_pipeline.wire.files import log_name, snapshot_name
from metadata_pipeline.wire.fleet import Quorum
from metadata_pipeline.wire.leader import Committed, Mark, Part
from metadata_pipeline.wire.reading import Ended, committed_end, read_on

AT_ONCE: Final = 8
BYTES: Final = 64 << 20
"""So much is held at most for one step of a stream without a limit of its own, of all quorums together."""
FILE_BYTES: Final = 8 << 20
"""What one task decodes."""
SECONDS_WHEN_AWAY: Final = 1.0
"""Who was away at the last look is not waited for, so that the others go on."""
_LATER: Final = frozenset(("away", "refused"))
"""What may be read when it is asked for again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Up to where a quorum was read, of which cluster it is, and what ended the last reading early ("": nothing)."""

    mark: Mark = field(default_factory=Mark)
    cluster_id: str = ""
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.mark.end}/{self.mark.epoch}/{self.cluster_id}/{self.fault}"

    @classmethod
    def parse(cls, text: str) -> Standing:
        end, epoch, cluster, fault = text.split("/")
        return cls(Mark(int(end), int(epoch)), cluster, fault)


@dataclass(frozen=True, slots=True)
class Held:
    """What lies between two standings of a quorum: files of a log (name, bytes), in order."""

    quorum: Quorum
    cluster_id: str | None
    files: tuple[tuple[str, bytes], ...]
    fault: str = ""
    why: str = ""


@dataclass(slots=True)
class _Gathered:
    """Parts as files in memory, until there are so many bytes."""

    mark: Mark
    most: int
    size: int = 0
    files: list[tuple[str, bytearray]] = field(default_factory=list)
    _snapshot: bytearray = field(default_factory=bytearray)

    def take(self, part: Part) -> bool:
        if isinstance(part, Committed):
            if not self.files or not self.files[-1][0].endswith(".log") or len(self.files[-1][1]) >= FILE_BYTES:
                self.files.append((log_name(part.start), bytearray()))
            self.files[-1][1].extend(part.data)
        else:
            if part.position == 0:
                self._snapshot = bytearray()
            self._snapshot += part.data
            if not part.last:
                return True
            self.files.append((snapshot_name(part.mark), self._snapshot))
        self.mark = part.mark
        self.size = sum(len(data) for _, data in self.files)
        return self.size < self.most


class Followed:
    """The quorums of one reader. What `advance` read is kept until `between` is asked for it."""

    def __init__(self, quorums: Sequence[Quorum], bytes_per_second: int | None = None) -> None:
        self._quorums = {quorum.name: quorum for quorum in quorums}
        self._rate = bytes_per_second
        self._kept: dict[tuple[str, str, str], Held] = {}

    def ends(self, marks: Mapping[str, str]) -> dict[str, int]:
        """The high watermark of each quorum that tells it."""

        async def one(quorum: Quorum, before: Standing) -> tuple[str, int | None]:
            return quorum.name, await committed_end(quorum, before.cluster_id or None, before.mark)

        async def every() -> list[tuple[str, int | None]]:
            return list(await asyncio.gather(*(one(it, _standing(marks, it.name)) for it in self._quorums.values())))

        return {name: end for name, end in asyncio.run(every()) if end is not None}

    def advance(
        self, marks: Mapping[str, str], most: int | None = None, ends: Mapping[str, int] | None = None
    ) -> dict[str, str]:
        """The marks after the next portion, of about `most` bytes; `ends` says how far a quorum may be read at most."""
        share = max(1, (BYTES if most is None else most) // max(1, len(self._quorums)))
        at_once = asyncio.Semaphore(AT_ONCE)

        async def one(quorum: Quorum) -> tuple[str, str]:
            before = _standing(marks, quorum.name)
            gathered = _Gathered(before.mark, share)
            async with at_once:
                ended = await self._read(quorum, before, gathered, None if ends is None else ends.get(quorum.name, 0))
            after = str(Standing(gathered.mark, ended.cluster_id or before.cluster_id, ended.fault or ""))
            told = ended.fault is not None and ended.fault != before.fault
            self._kept[quorum.name, str(before), after] = _held(quorum, gathered, ended, told=told)
            return quorum.name, after

        async def every() -> list[tuple[str, str]]:
            return list(await asyncio.gather(*(one(quorum) for quorum in self._quorums.values())))

        self._kept.clear()
        return dict(asyncio.run(every()))

    def between(self, start: Mapping[str, str], end: Mapping[str, str]) -> list[Held]:
        """What the marks `end` say beyond `start`. Raises PipelineError where it cannot be read again now."""
        found = []
        for name, text in end.items():
            quorum, before, after = self._quorums.get(name), _standing(start, name), Standing.parse(text)
            if quorum is None or before == after:
                continue
            kept = self._kept.get((name, str(before), text))
            found.append(self._again(quorum, before, after) if kept is None else kept)
        return found

    def _again(self, quorum: Quorum, before: Standing, after: Standing) -> Held:
        gathered = _Gathered(before.mark, 1 << 62)
        ended = Ended(after.cluster_id, after.fault or None, "")
        if before.mark.end < after.mark.end:
            ended = asyncio.run(self._read(quorum, replace(before, fault=""), gathered, after.mark.end))
        if ended.fault in _LATER and gathered.mark.end < after.mark.end:
            raise PipelineError(f"quorum {quorum}: {ended.fault}: {ended.why}", "start the query again when it is back")
        told = (ended.fault or after.fault or "") not in ("", before.fault)
        return _held(quorum, gathered, replace(ended, fault=ended.fault or after.fault or None), told=told)

    async def _read(self, quorum: Quorum, before: Standing, gathered: _Gathered, below: int | None) -> Ended:
        seconds = SECONDS_WHEN_AWAY if before.fault in _LATER else None
        known = before.cluster_id or None
        return await read_on(
            quorum, known, before.mark, gathered.take, bytes_per_second=self._rate, below=below, seconds=seconds
        )


def _standing(marks: Mapping[str, str], name: str) -> Standing:
    with suppress(ValueError):
        return Standing.parse(marks[name]) if name in marks else Standing()
    raise PipelineError(f"{marks[name]!r} says of no quorum how far it was read", "begin with a new checkpoint")


def _held(quorum: Quorum, gathered: _Gathered, ended: Ended, *, told: bool) -> Held:
    files = tuple((name, bytes(data)) for name, data in gathered.files)
    fault, why = (ended.fault or "", ended.why) if told else ("", "")
    return Held(quorum, ended.cluster_id, files, fault, why)
