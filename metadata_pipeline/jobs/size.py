"""How much there is to do, before anything is started for it."""

from __future__ import annotations

from collections.abc import Sequence

from metadata_pipeline.jobs.ingest import ALONE_BYTES
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.sources.faults import ListingError
from metadata_pipeline.sources.segments import list_segments
from metadata_pipeline.tables.views import is_small


def is_small_fleet(paths: Sequence[str], state: LakeState) -> bool:
    """Whether these logs and this lake together are a matter of planning. A path that cannot be listed is told by the
    ingest.
    """
    try:
        listed = list_segments(list(paths)).directories if paths else ()
    except ListingError:
        return False
    return is_small(state) and sum(segment.size for it in listed for segment in it.segments) <= ALONE_BYTES
