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
from typing import Final

from controller_runtime.admin.connections import AdminError
from controller_runtime.identifiers import METADATA_TOPIC_NAME, Epoch, Offset, OffsetAndEpoch
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.security.listener_security import SecurityError
from controller_runtime.storage.file_names import LOG, segment_file, snapshot_file
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.wire.fleet import Quorum, security_of
from metadata_pipeline.wire.leader import Leader, Mark, Part, QuorumReader, ReadError, SnapshotSlice

OVER_THE_WIRE: Final = -1
"""The node id of a copy that is no replica's."""


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
    fault: str | None = None
    why = ""
    try:
        if quorum.cluster_id is not None and cluster not in (None, quorum.cluster_id):
            raise ReadError("another cluster", f"the lake knows {quorum.name} as cluster {cluster}")
        reader = QuorumReader(
            quorum.bootstrap, quorum.cluster_id or cluster, security_of(quorum), bytes_per_second=rate
        )
    except (ReadError, PipelineError, ValueError, SecurityError) as error:
        fault = error.fault if isinstance(error, ReadError) else "refused"
        return Spooled(quorum, cluster, None, mark=mark, leader=None, fault=fault, why=str(error))
    writer = _Writer(home / f"{METADATA_TOPIC_NAME}-0", mark)
    try:
        cluster = await reader.find_cluster_id()
        async for part in reader.parts(mark):
            writer.take(part)
    except ReadError as error:
        fault, why = error.fault, str(error)
    except ApiError as error:
        fault, why = "refused", f"{error}; grant ClusterAction on the cluster, and name its cluster-id"
    except AdminError as error:
        fault, why = "away", str(error)
    finally:
        writer.close()
        await reader.close()
    return Spooled(
        quorum,
        cluster,
        writer.home if writer.is_written else None,
        mark=writer.mark,
        leader=writer.leader,
        fault=fault,
        why=why,
    )


class _Writer:
    """Parts as a log's files: a snapshot whole or not at all, a new segment behind it."""

    def __init__(self, home: Path, mark: Mark) -> None:
        self.home = home
        self.mark = mark
        self.leader: Leader | None = None
        self.is_written = False
        self._segment: int | None = None

    def take(self, part: Part) -> None:
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if isinstance(part, SnapshotSlice):
            beside = self.home / "snapshot.part"
            self._append(beside, part.data, new=part.position == 0)
            if not part.last:
                return
            beside.rename(self.home / snapshot_file(OffsetAndEpoch(Offset(part.mark.end), Epoch(part.mark.epoch))))
            self._segment = None
        else:
            if self._segment is None:
                self._segment = part.start
            self._append(self.home / segment_file(self._segment, LOG), part.data, new=False)
        self.mark, self.leader, self.is_written = part.mark, part.leader, True

    def _append(self, path: Path, data: bytes, *, new: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if new else os.O_APPEND)
        with os.fdopen(os.open(path, flags, 0o600), "ab") as file:
            file.write(data)

    def close(self) -> None:
        (self.home / "snapshot.part").unlink(missing_ok=True)
