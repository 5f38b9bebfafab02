"""One reading of a living quorum: its parts go to whoever takes them, and what ended it early is a word and a reason.

Who keeps what is read (a job's spool, a stream, an archive) gives `read_on` a function that takes parts;
`wire.files.LogFiles` makes files of Kafka's own form of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from controller_runtime.admin.connections import AdminError
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.security.listener_security import SecurityError
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.wire.fleet import Quorum, security_of
from metadata_pipeline.wire.leader import Committed, Mark, Part, QuorumReader, ReadError, Told

END_SECONDS: Final = 5.0
"""Who does not tell so soon where its log ends is left for the next time."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a reading ended: at the high watermark when `fault` is None. `fault` is a word of `sources.faults`."""

    cluster_id: str | None
    fault: str | None = None
    why: str = ""


async def read_on(
    quorum: Quorum,
    cluster_id: str | None,
    after: Mark,
    take: Callable[[Part], bool | None],
    *,
    bytes_per_second: int | None = None,
    below: int | None = None,
    seconds: float | None = None,
    again: Callable[[Told | None], Awaitable[bool]] | None = None,
) -> Ended:
    """Give `take` what the quorum has committed behind `after`, in order, until it returns False, or up to `below`.
    `cluster_id`: what the quorum was before; `seconds`: how long it may take to show a leader; `again` is asked at the
    end whether to read on, over the same connections. Credentials are read anew each time. Raises nothing that a
    quorum or its address can cause.
    """

    async def read(reader: QuorumReader) -> None:
        mark = after
        while True:
            async with aclosing(reader.parts(mark, below)) as parts:
                async for part in parts:
                    if take(part) is False:
                        return
                    mark = part.mark if isinstance(part, Committed) or part.last else mark
            if again is None or not await again(reader.told):
                return

    return await _asked(quorum, cluster_id, read, bytes_per_second, seconds)


async def read_snapshot(
    quorum: Quorum,
    cluster_id: str | None,
    after: Mark,
    beyond: int,
    take: Callable[[Part], bool | None],
    *,
    bytes_per_second: int | None = None,
) -> Ended:
    """Give `take` the slices of the snapshot that the quorum's log begins with, if it ends above `beyond` and not above
    what was read. Raises nothing that a quorum or its address can cause.
    """

    async def read(reader: QuorumReader) -> None:
        async with aclosing(reader.newest_snapshot(after, beyond)) as parts:
            async for part in parts:
                if take(part) is False:
                    return

    return await _asked(quorum, cluster_id, read, bytes_per_second, None)


async def committed_end(quorum: Quorum, cluster_id: str | None, after: Mark) -> int | None:
    """The high watermark; None when the quorum does not tell it."""
    found: list[int] = []

    async def read(reader: QuorumReader) -> None:
        found.append(await reader.high_watermark(after))

    await _asked(quorum, cluster_id, read, None, END_SECONDS)
    return found[0] if found else None


async def _asked(
    quorum: Quorum,
    cluster: str | None,
    ask: Callable[[QuorumReader], Awaitable[None]],
    rate: int | None,
    seconds: float | None,
) -> Ended:
    try:
        if quorum.cluster_id is not None and cluster not in (None, quorum.cluster_id):
            raise ReadError("another cluster", f"{quorum.name} was known as cluster {cluster}")
        cluster = quorum.cluster_id or cluster
        reader = QuorumReader(quorum.bootstrap, cluster, security_of(quorum), bytes_per_second=rate, seconds=seconds)
    except (ReadError, PipelineError, ValueError, SecurityError) as error:
        return Ended(cluster, error.fault if isinstance(error, ReadError) else "refused", str(error))
    try:
        cluster = await reader.find_cluster_id()
        await ask(reader)
    except ReadError as error:
        return Ended(cluster, error.fault, str(error))
    except ApiError as error:
        return Ended(cluster, "refused", f"{error}; grant ClusterAction on the cluster, and name its cluster-id")
    except AdminError as error:
        return Ended(cluster, "away", str(error))
    finally:
        await reader.close()
    return Ended(cluster)
