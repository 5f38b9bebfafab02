"""What an archive says of itself: a value, as JSON (`/status`) and for Prometheus (`/metrics`). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from metadata_pipeline.archive.memory import Verified
from metadata_pipeline.archive.problems import REMEDIES, Standing
from metadata_pipeline.wire.leader import Mark, Told

VERSION: Final = 1
NOTHING: Final = -1
"""For a number that nobody knows yet."""
UNKNOWN: Final = Mark(NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class Telling:
    """Times are seconds since 1970; offsets as Kafka's, ends exclusive."""

    standing: Standing = Standing.STARTING
    why: str = ""
    cluster_id: str = ""
    begun: str = ""
    start: int = NOTHING
    mark: Mark = UNKNOWN
    size_bytes: int = 0
    snapshots: tuple[Mark, ...] = ()
    asides: int = 0
    """How many times the log was set aside: for another beginning, or because the quorum had trimmed too far."""
    told: Told | None = None
    contact: float | None = None
    """When a leader answered last."""
    caught_up: float | None = None
    """When nothing was missing last."""
    verified: Verified | None = None

    @property
    def lag(self) -> int:
        """In records, as of the last contact."""
        return NOTHING if self.told is None else max(0, self.told.high_watermark - self.mark.end)


def as_json(now: Telling) -> bytes:
    seen, told = now.verified, now.told
    found: dict[str, Any] = {
        "version": VERSION,
        "standing": now.standing.value,
        "why": now.why,
        "next": REMEDIES.get(now.standing, ""),
        "clusterID": now.cluster_id,
        "begun": now.begun,
        "start": now.start,
        "end": now.mark.end,
        "epoch": now.mark.epoch,
        "sizeBytes": now.size_bytes,
        "snapshots": [[each.end, each.epoch] for each in now.snapshots],
        "asides": now.asides,
        "lag": now.lag,
        "highWatermark": told.high_watermark if told is not None else NOTHING,
        "quorumLogStart": told.log_start if told is not None else NOTHING,
        "leaderID": told.node if told is not None else NOTHING,
        "leaderEpoch": told.epoch if told is not None else NOTHING,
        "contact": now.contact,
        "caughtUp": now.caught_up,
        "verified": None,
    }
    if seen is not None:
        whole = {"start": seen.start, "end": seen.end, "epoch": seen.epoch, "digest": seen.digest, "at": seen.at}
        found["verified"] = whole
    return json.dumps(found, indent=1).encode() + b"\n"


_HELP: Final = {
    "end_offset": "Where the archived log ends (exclusive).",
    "start_offset": "Where the archived log begins.",
    "lag_records": "Committed records that are not archived, as of the last contact; -1: no contact yet.",
    "quorum_high_watermark": "Up to where the quorum's log was committed at the last contact.",
    "quorum_log_start_offset": "Where the quorum's log began at the last contact.",
    "size_bytes": "Log and snapshots of the archive.",
    "snapshots": "Snapshots that a restore can begin with.",
    "asides": "Times that the log was set aside.",
    "contact_timestamp_seconds": "When a leader answered last; 0: never.",
    "caught_up_timestamp_seconds": "When nothing was missing last; 0: never.",
    "verified_end_offset": "Up to where the last whole reading of the disk found every checksum right.",
    "verified_timestamp_seconds": "When that was; 0: never.",
}


def as_metrics(now: Telling) -> bytes:
    seen, told = now.verified, now.told
    values = {
        "end_offset": now.mark.end,
        "start_offset": now.start,
        "lag_records": now.lag,
        "quorum_high_watermark": told.high_watermark if told is not None else NOTHING,
        "quorum_log_start_offset": told.log_start if told is not None else NOTHING,
        "size_bytes": now.size_bytes,
        "snapshots": len(now.snapshots),
        "asides": now.asides,
        "contact_timestamp_seconds": now.contact or 0,
        "caught_up_timestamp_seconds": now.caught_up or 0,
        "verified_end_offset": seen.end if seen is not None else NOTHING,
        "verified_timestamp_seconds": seen.at if seen is not None else 0,
    }
    lines = []
    for name, value in values.items():
        lines += [f"# HELP kraft_archive_{name} {_HELP[name]}", f"# TYPE kraft_archive_{name} gauge"]
        lines.append(f"kraft_archive_{name} {value}")
    lines += ["# HELP kraft_archive_standing What the archive is.", "# TYPE kraft_archive_standing gauge"]
    lines += [f'kraft_archive_standing{{standing="{each.value}"}} {int(each is now.standing)}' for each in Standing]
    return ("\n".join(lines) + "\n").encode()
