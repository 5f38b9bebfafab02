"""What living quorums gave, as sources of an ingest.

A quorum is one more copy of its cluster's log, of node -1 and directory `wire`, which holds nothing but what its leader
said is committed. Each reading is a file of its own that begins where the last one ended, so nothing is read twice; two
ingests at once cannot both commit the same reading, as with files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metadata_pipeline.copies import WIRE_DIRECTORY, WIRE_NODE, CopyKey
from metadata_pipeline.jobs.plan import Sources, sources_of
from metadata_pipeline.lake.entries import CopyFacts, Trouble
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.sources.segments import Listing, LogDirectory, list_segments

if TYPE_CHECKING:
    from metadata_pipeline.wire.fleet import Quorum
    from metadata_pipeline.wire.spool import Spooled

SPOOL: Final = "_wire"


@dataclass(frozen=True, slots=True)
class WireSources:
    """`state` is the lake that the reading went on from; `clusters` the cluster ids by name of quorum, known so far."""

    state: LakeState
    found: tuple[Spooled, ...]
    clusters: Mapping[str, str]

    def beside(self, files: Sources) -> Sources:
        """All sources together. A quorum that told nothing new keeps what it told before."""
        once: dict[str, Spooled] = {}
        troubles = [it for one in self.found if (it := _trouble(one)) is not None]
        for one in self.found:
            if (
                one.leader is not None
                and one.cluster_id is not None
                and once.setdefault(one.cluster_id, one) is not one
            ):
                why = f"it is the cluster that {once[one.cluster_id].quorum} is"
                troubles.append(Trouble(f"quorum {one.quorum}", "twice", why, copy=_key(one.cluster_id)))
        made = sources_of(Listing(tuple(it for one in once.values() for it in _directory(one)), ()))
        told = {one.cluster_id: self.state.copies.get(_key(one.cluster_id)) for one in self.found if one.cluster_id}
        told |= {cluster: _facts(one) for cluster, one in once.items()}
        facts = tuple(it for it in told.values() if it is not None)
        return Sources(
            {**files.files, **made.files}, (*files.copies, *facts), (*files.troubles, *made.troubles, *troubles)
        )


def _key(cluster: str) -> CopyKey:
    return CopyKey(cluster, WIRE_NODE, WIRE_DIRECTORY)


def _facts(one: Spooled) -> CopyFacts:
    assert one.leader is not None, "who was read has a leader"
    assert one.cluster_id is not None, "who was read has a cluster id"
    why = f"high watermark of node {one.leader.node}, leader of epoch {one.leader.epoch}"
    return CopyFacts(_key(one.cluster_id), str(one.quorum), None, (), (one.mark.end, one.mark.epoch, why))


@contextmanager
def over_the_wire(
    quorums: Sequence[Quorum], state: LakeState, lake: Path, bytes_per_second: int | None
) -> Iterator[WireSources | None]:
    """Read what is new of each quorum; the files are there inside of the block."""
    if not quorums:
        yield None
        return
    from metadata_pipeline.wire.leader import Mark
    from metadata_pipeline.wire.spool import spooled

    clusters = dict(state.summaries.get("ingest", {}).get("quorums", {}))
    known = {}
    for name, cluster in clusters.items():
        facts = state.copies.get(_key(cluster))
        told = facts.told if facts is not None else None
        known[name] = cluster, Mark() if told is None else Mark(told[0], told[1])
    with spooled(quorums, known, lake / SPOOL, bytes_per_second) as found:
        for one in found:
            if one.cluster_id is not None and one.leader is not None:
                clusters.setdefault(one.quorum.name, one.cluster_id)
        yield WireSources(state, tuple(found), clusters)


def _directory(one: Spooled) -> Iterator[LogDirectory]:
    if one.directory is None or one.cluster_id is None:
        return
    for listed in list_segments(str(one.directory)).directories:
        segments = tuple(
            replace(segment, cluster_id=one.cluster_id, node_id=WIRE_NODE, directory_id=WIRE_DIRECTORY)
            for segment in listed.segments
        )
        yield replace(
            listed, cluster_id=one.cluster_id, node_id=WIRE_NODE, directory_id=WIRE_DIRECTORY, segments=segments
        )


def _trouble(one: Spooled) -> Trouble | None:
    if one.fault is None:
        return None
    key = None if one.cluster_id is None else _key(one.cluster_id)
    return Trouble(f"quorum {one.quorum}", one.fault, one.why, copy=key)
