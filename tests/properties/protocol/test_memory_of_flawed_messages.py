"""A flawed message, however large, costs no more than four times its bytes and 64 KiB (objects of Python take ten times
and more).
"""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Callable

import pytest

from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import MalformedMessage
from controller_runtime.protocol.messages import MODULES, message_class
from controller_runtime.protocol.schema import Message
from support.clients.large_messages import large

pytestmark = pytest.mark.properties

MESSAGES = None if os.environ.get("QUORATE_SOAK") else 12
"""How many messages `make test` samples; the soak takes all."""


def peak_of_refusal(cls: type[Message], data: bytes, version: int) -> int | None:
    """The most that was allocated while `data` was refused; None if it is a message after all."""
    tracemalloc.start()
    try:
        decode(cls, data, version)
    except MalformedMessage:
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return None


def test_flawed_messages_stay_within_four_times_their_bytes(run_seed: int, sampled: Callable[[str], None]) -> None:
    dice = random.Random(run_seed)
    names = [name for name in sorted(MODULES) if any(spec.array for spec in message_class(name).FIELDS)]
    measured = 0
    for name in dice.sample(names, MESSAGES or len(names)):
        cls = message_class(name)
        version = cls.VERSIONS.highest
        data = next(
            made
            for width in (600, 120, 40, 12)
            if len(made := encode(large(cls, version, width, dice), version)) < 24_000
        )
        with pytest.raises(MalformedMessage):
            decode(cls, data[:-1], version)  # compiles decoder, survey and explanation outside of the measurement
        for _ in range(2):
            flawed = bytearray(data)
            flawed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            for bytes_ in (bytes(flawed), data[: dice.randrange(len(data))], data + b"x"):
                peak = peak_of_refusal(cls, bytes_, version)
                if peak is not None:
                    assert peak <= 4 * len(bytes_) + 64 * 1024, (name, version, len(bytes_), peak)
                    measured += 1
    sampled(f"memory of {measured} flawed messages (seed {run_seed})")
    assert measured > 40
