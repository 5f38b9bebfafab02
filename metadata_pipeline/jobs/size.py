"""How much there is to do, before anything is started for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from metadata_pipeline.jobs.ingest import ALONE_BYTES
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.sources.faults import ListingError
from metadata_pipeline.sources.segments import list_segments
from metadata_pipeline.tables.views import is_small, rows_of

BRIEF_BYTES: Final = 128 << 20
"""Up to so many bytes of logs and records of a lake a `run` is over before what Java compiles a second time has paid:
measured with 100 MB of two million records.
"""
BRIEF_ROWS: Final = 2_500_000


@dataclass(frozen=True, slots=True)
class Size:
    """`small`: a matter of planning. `brief`: of a minute or two."""

    small: bool
    brief: bool


def size_of_fleet(paths: Sequence[str], state: LakeState) -> Size:
    """Of these logs and this lake together. A path that cannot be listed is told by the ingest."""
    try:
        listed = list_segments(list(paths)).directories if paths else ()
    except ListingError:
        return Size(small=False, brief=False)
    size = sum(segment.size for it in listed for segment in it.segments)
    return Size(
        small=is_small(state) and size <= ALONE_BYTES, brief=rows_of(state) <= BRIEF_ROWS and size <= BRIEF_BYTES
    )  # fmt: skip
