"""An archive among the sources of an ingest: the follower kept nothing but what the quorum's leader had called
committed, and `archive.json` says up to where. That is a proof of its own, as over the wire.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from metadata_pipeline.copies import WIRE_NODE
from metadata_pipeline.jobs.plan import Sources
from metadata_pipeline.lake.entries import CopyFacts

FILE: Final = "archive.json"
VERSION: Final = 1
MAX_BYTES: Final = 65536


def with_archives(sources: Sources) -> Sources:
    """Read it before the log: what comes to the log meanwhile is known at the next ingest."""
    return replace(sources, copies=tuple(_proven(each) for each in sources.copies))


def _proven(facts: CopyFacts) -> CopyFacts:
    """One that cannot be read proves nothing; the log is still read."""
    if facts.copy.node != WIRE_NODE or facts.told is not None or "://" in facts.location:
        return facts
    try:
        with (Path(facts.location).parent / FILE).open("rb") as file:
            found = json.loads(file.read(MAX_BYTES))
        if found["version"] != VERSION or found["clusterID"] != facts.copy.cluster or not found["end"]:
            return facts
        end, epoch, leader = int(found["end"]), int(found["epoch"]), int(found["leaderEpoch"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return facts
    return replace(facts, told=(end, epoch, f"archive of what leaders up to epoch {leader} called committed"))
