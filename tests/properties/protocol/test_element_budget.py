"""Of a stranger's message no more is made than the reader allows, whatever its layout: counted, in messages at their
highest and lowest version.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import pytest

from controller_runtime.protocol.codec import NO_BUDGET, SURVEYED_BYTES, decode_within, encode
from controller_runtime.protocol.decoder_source import smallest_size
from controller_runtime.protocol.errors import TooManyElements
from controller_runtime.protocol.messages import MODULES, message_class
from controller_runtime.protocol.schema import Message, Struct
from support.clients.large_messages import elements, large

pytestmark = pytest.mark.properties

LAYOUTS = None if os.environ.get("QUORATE_SOAK") else 60
"""How many `make test` samples of those with arrays; the soak takes all."""
DEEPEST = 4
"""Arrays in arrays of the deepest layout. Layouts do not refer to themselves, so no message is deeper."""


def layouts() -> Iterator[tuple[type[Message], int]]:
    for name in sorted(MODULES):
        cls = message_class(name)
        yield from ((cls, version) for version in {cls.VERSIONS.lowest, cls.VERSIONS.highest})


def repeated(cls: type[Struct], version: int) -> Iterator[tuple[int, type[Struct]]]:
    """Structures that stand in arrays, with the number of arrays around each. Ends, because layouts are trees."""
    for spec in cls.FIELDS:
        if version in spec.versions and spec.struct is not None:
            if spec.array:
                yield 1, spec.struct
            yield from ((depth + spec.array, inner) for depth, inner in repeated(spec.struct, version))


def test_elements_and_tags_are_counted_exactly_and_one_too_many_is_refused_before_any_is_made(
    run_seed: int, sampled: Callable[[str], None]
) -> None:
    dice = random.Random(run_seed)
    counted = 0
    found_layouts = [(cls, version) for cls, version in layouts() if any(repeated(cls, version))]
    for cls, version in dice.sample(found_layouts, LAYOUTS or len(found_layouts)):
        message = large(cls, version, 120, dice)
        data = encode(message, version)
        if len(data) <= SURVEYED_BYTES or not (count := elements(message, version)):
            continue
        found, end, made = decode_within(cls, data, version, 0, NO_BUDGET)
        assert (found, end) == (message, len(data))
        assert made == count, (cls.__name__, version)
        assert decode_within(cls, data, version, 0, count)[0] == message
        for less in (count - 1, dice.randrange(count)):
            with pytest.raises(TooManyElements) as refused:
                decode_within(cls, data, version, 0, less)
            assert (refused.value.message, refused.value.version, refused.value.allowed) == (
                cls.__name__,
                version,
                less,
            )
            assert 0 < refused.value.count <= count
        counted += 1
    sampled(f"elements of {counted} layouts (seed {run_seed})")
    assert counted > 30


def test_a_small_message_has_no_more_elements_than_bytes() -> None:
    """What `codec.SURVEYED_BYTES` relies on, with check_count: an element takes a byte at least, a tagged field two."""
    for name in MODULES:
        cls = message_class(name)
        for version in cls.VERSIONS:
            for _, inner in repeated(cls, version):
                assert smallest_size(inner, version, version in cls.FLEXIBLE) >= 1, (name, version, inner.__name__)


def test_no_layout_is_deeper_than_four_arrays() -> None:
    depths = {depth for cls, version in layouts() for depth, _ in repeated(cls, version)}
    assert max(depths) == DEEPEST
