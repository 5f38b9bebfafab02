"""What came over the wire as files in Kafka's own form, for as long as a job reads them.

They hold what a log holds, secrets too: readable by their owner alone, and removed when the job ends.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller_runtime.identifiers import METADATA_TOPIC_NAME
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.wire.files import LogFiles
from metadata_pipeline.wire.fleet import Quorum
from metadata_pipeline.wire.leader import Leader, Mark
from metadata_pipeline.wire.reading import read_on


@dataclass(frozen=True, slots=True)
class Spooled:
    """What a quorum gave. `fault` and `why` say what ended the reading early; what came before stays and counts."""

    quorum: Quorum
    cluster_id: str | None
    directory: Path | None
    mark: Mark
    leader: Leader | None
    fault: str | None = None
    why: str = ""


@contextmanager
def spooled(
    quorums: Sequence[Quorum], known: Mapping[str, tuple[str, Mark]], root: Path, bytes_per_second: int | None = None
) -> Iterator[list[Spooled]]:
    """Read what is new of each quorum, several at once; the files are there inside of the block. `known`: by name of
    quorum its cluster id, and up to where it was read.
    """
    if not quorums:
        yield []
        return
    home = root / f"{os.getpid()}-{os.urandom(4).hex()}"
    try:
        home.mkdir(parents=True, mode=0o700)
        yield asyncio.run(_all(quorums, known, home, bytes_per_second))
    except OSError as error:
        raise PipelineError(f"cannot write to {home}: {error.strerror}", "free space or rights, run again") from error
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _all(
    quorums: Sequence[Quorum], known: Mapping[str, tuple[str, Mark]], home: Path, rate: int | None
) -> list[Spooled]:
    at_once = asyncio.Semaphore(8)

    async def one(number: int, quorum: Quorum) -> Spooled:
        async with at_once:
            return await _one(quorum, known.get(quorum.name), home / str(number), rate)

    return list(await asyncio.gather(*(one(number, quorum) for number, quorum in enumerate(quorums))))


async def _one(quorum: Quorum, before: tuple[str, Mark] | None, home: Path, rate: int | None) -> Spooled:
    cluster, mark = before or (None, Mark())
    files = LogFiles(home / f"{METADATA_TOPIC_NAME}-0", mark)
    try:
        ended = await read_on(quorum, cluster, mark, files.take, bytes_per_second=rate)
    finally:
        files.close()
    return Spooled(
        quorum, ended.cluster_id, files.home if files.is_written else None, mark=files.mark, leader=files.leader,
        fault=ended.fault, why=ended.why,
    )  # fmt: skip
