"""Acknowledgements of a request, before anybody looks for their records: in order, apart, with words that mean
something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from controller_runtime.coordinator.share_partitions.acknowledging import RENEW, Said
from controller_runtime.parts.pieces import InPieces

_REJECT: Final = 3
_TYPES_A_UNIT: Final = 200
FIRST_VERSION_WITH_RENEWALS: Final = 2


def read_batches(
    batches: Sequence[Any], version: int, *, is_renewal: bool
) -> InPieces[NoReturn, tuple[Said, ...] | None]:
    """None: they are not right. `is_renewal`: the request says that some may be renewals."""
    largest = RENEW if version >= FIRST_VERSION_WITH_RENEWALS else _REJECT
    found: list[Said] = []
    before = -1
    for each in batches:
        types = each.acknowledge_types
        if each.first_offset > each.last_offset or each.first_offset < before or not types:
            return None
        if len(types) > 1 and each.last_offset - each.first_offset != len(types) - 1:
            return None
        if min(types) < 0 or max(types) > largest or (RENEW in types and not is_renewal):
            return None
        before = each.last_offset
        found.append(Said(each.first_offset, before, types))
        for _ in range(1 + len(types) // _TYPES_A_UNIT):
            yield None
    return tuple(found)
