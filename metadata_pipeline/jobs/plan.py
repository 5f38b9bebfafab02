"""What an ingest has to do: compare what lies there with what the lake has read. Pure.

The unit is the part of a file that was not read before. A file that shrank or whose last batch is another one than it
was has been truncated by its node; where is found by `changes`, which looks into the file. The same file of the same
disk found twice (an archive beside the original) is read once, the longer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.entries import CopyFacts, SourceRange, Trouble, Truncation
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.sources.packing import SMALLEST_TASK, TASKS_WANTED
from metadata_pipeline.sources.segments import Listing, LogDirectory, Segment

PACK_BYTES = 64 << 20
"""How much one task reads: enough to pay for the start of a task, small enough to share the work."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of one file to read: from the first that the lake does not have."""

    copy: CopyKey
    segment: Segment
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Sources:
    """The files that count of everything that was listed, and what does not and why."""

    files: Mapping[tuple[CopyKey, str], Segment]
    copies: tuple[CopyFacts, ...]
    troubles: tuple[Trouble, ...]


def sources_of(listing: Listing) -> Sources:
    files: dict[tuple[CopyKey, str], Segment] = {}
    copies: dict[CopyKey, CopyFacts] = {}
    troubles = [Trouble(it.path, it.fault.value, it.detail) for it in listing.problems]
    for directory in listing.directories:
        key = copy_key(directory)
        if key is None:
            why = "no readable meta.properties says whose log this is; nothing of it is read"
            troubles.append(Trouble(directory.path, "identity", why))
            continue
        state = directory.quorum_state
        facts = CopyFacts(
            key, directory.path, None if state is None else int(state.epoch),
            tuple(int(voter.node_id) for voter in directory.static_voters),
        )  # fmt: skip
        if all(segment.kind == "bootstrap" for segment in directory.segments):
            continue
        known = copies.get(key)
        if known is None or (known.epoch or -1) <= (facts.epoch or -1):
            copies[key] = facts
        for segment in directory.segments:
            if segment.kind == "bootstrap":
                continue
            other = files.get((key, segment.name))
            if other is not None:
                shorter, segment = sorted((other, segment), key=lambda it: it.size)
                why = f"{segment.file} is the same file of the same disk"
                troubles.append(Trouble(shorter.file, "twice", why, position=0, size=0, copy=key))
            files[key, segment.name] = segment
    return Sources(files, tuple(copies.values()), tuple(troubles))


def copy_key(directory: LogDirectory) -> CopyKey | None:
    if directory.cluster_id is None or directory.node_id is None:
        return None
    return CopyKey(directory.cluster_id, directory.node_id, directory.directory_id or "")


def new_parts(sources: Sources, read: Mapping[tuple[CopyKey, str], SourceRange]) -> list[Part]:
    """What is there beyond what was read, in order of copy and file."""
    parts = []
    for (copy, name), segment in sorted(sources.files.items(), key=lambda item: item[0]):
        known = read.get((copy, name))
        start = 0 if known is None else known.end_position
        if segment.size > start:
            parts.append(Part(copy, segment, start, segment.size))
    return parts


def vanished_tails(sources: Sources, state: LakeState) -> list[Truncation]:
    """Segments that are gone although an earlier one of that disk is still its last: the node truncated its log below
    them.
    """
    last: dict[CopyKey, int] = {}
    for (copy, _), segment in sources.files.items():
        if segment.kind == "log":
            last[copy] = max(last.get(copy, 0), segment.base_offset)
    found: dict[CopyKey, int] = {}
    for copy, name in state.read:
        if name.endswith(".log") and copy in last and (copy, name) not in sources.files:
            base = int(name[:20])
            if base > last[copy]:
                found[copy] = min(found.get(copy, base), base)
    return [Truncation(copy, offset) for copy, offset in sorted(found.items())]


def packs(parts: Sequence[Part], pack_bytes: int = PACK_BYTES) -> list[list[Part]]:
    """Tasks: parts of one cluster together until they are large enough, so that a fleet of small files costs few tasks.

    With less than some full tasks the tasks are made smaller: there are cores to keep busy.
    """
    made: list[list[Part]] = []
    pack_bytes = min(pack_bytes, max(SMALLEST_TASK, _size(parts) // TASKS_WANTED))
    for part in parts:
        if made and made[-1][0].copy.cluster == part.copy.cluster and _size(made[-1]) + part.size <= pack_bytes:
            made[-1].append(part)
        else:
            made.append([part])
    return sorted(made, key=_size, reverse=True)


def _size(parts: Iterable[Part]) -> int:
    return sum(part.size for part in parts)
