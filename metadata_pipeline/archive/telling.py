"""What an archive says of itself: a value, as JSON (`/status`) and for Prometheus (`/metrics`). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from metadata_pipeline.archive.memory import Verified
from metadata_pipeline.archive.problems import REMEDIES, STORE_REMEDIES, Standing, StoreStanding
from metadata_pipeline.wire.leader import Mark, Told

VERSION: Final = 1
NOTHING: Final = -1
"""For a number that nobody knows yet."""
UNKNOWN: Final = Mark(NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class StoreTelling:
    """Of the copy in an object store."""

    url: str
    standing: StoreStanding = StoreStanding.STARTING
    why: str = ""
    start: int = NOTHING
    end: int = NOTHING
    lag: int = NOTHING
    """In records: what is on the archive's own disk and not there."""
    objects: int = 0
    size_bytes: int = 0
    asides: int = 0
    keys: tuple[str, ...] = ()
    """With which its objects are sealed; an empty one stands for objects that are not."""
    contact: float | None = None
    """When it answered last."""
    verified: float | None = None
    """When every object was last seen to be there."""
    verified_end: int = NOTHING

    @property
    def encrypted(self) -> bool:
        return bool(self.keys) and "" not in self.keys


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
    store: StoreTelling | None = None

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
    if now.store is not None:
        found["store"] = _store(now.store)
    return json.dumps(found, indent=1).encode() + b"\n"


def _store(now: StoreTelling) -> dict[str, Any]:
    return {
        "url": now.url,
        "standing": now.standing.value,
        "why": now.why,
        "next": STORE_REMEDIES.get(now.standing, ""),
        "start": now.start,
        "end": now.end,
        "lag": now.lag,
        "objects": now.objects,
        "sizeBytes": now.size_bytes,
        "asides": now.asides,
        "encrypted": now.encrypted,
        "keys": [each for each in now.keys if each],
        "contact": now.contact,
        "verifiedEnd": now.verified_end,
        "verifiedAt": now.verified,
    }


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
    "store_end_offset": "Up to where the log is in the object store (exclusive).",
    "store_lag_records": "Archived records that are not in the object store; -1: not known.",
    "store_size_bytes": "What lies in the object store.",
    "store_objects": "How many objects that are.",
    "store_contact_timestamp_seconds": "When the object store answered last; 0: never.",
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
    if (store := now.store) is not None:
        values |= {
            "store_end_offset": store.end,
            "store_lag_records": store.lag,
            "store_size_bytes": store.size_bytes,
            "store_objects": store.objects,
            "store_contact_timestamp_seconds": store.contact or 0,
        }
    lines = []
    for name, value in values.items():
        lines += [f"# HELP kraft_archive_{name} {_HELP[name]}", f"# TYPE kraft_archive_{name} gauge"]
        lines.append(f"kraft_archive_{name} {value}")
    lines += ["# HELP kraft_archive_standing What the archive is.", "# TYPE kraft_archive_standing gauge"]
    lines += [f'kraft_archive_standing{{standing="{each.value}"}} {int(each is now.standing)}' for each in Standing]
    if (store := now.store) is not None:
        name = "kraft_archive_store_standing"
        lines += [f"# HELP {name} What the archive's copy in the object store is.", f"# TYPE {name} gauge"]
        lines += [f'{name}{{standing="{each.value}"}} {int(each is store.standing)}' for each in StoreStanding]
    return ("\n".join(lines) + "\n").encode()
