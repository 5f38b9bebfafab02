"""Cut, flipped and made-up bytes: a typed error or a message, never anything else, and the same verdict by every look
at them.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_runtime.protocol import codec
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import InvalidValue, MalformedMessage
from controller_runtime.protocol.framing import UnknownApiKey, UnsupportedApiVersion, decode_request
from controller_runtime.protocol.messages import MODULES, message_class
from controller_runtime.protocol.schema import Message
from support.golden import json_lines

pytestmark = pytest.mark.properties

SHORT_NAMES: Final = {"DefaultPrincipal": "DefaultPrincipalData", "QuorumState": "QuorumStateData"}
SETTINGS: Final = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


def golden(dice: random.Random) -> list[tuple[type[Message], int, bytes]]:
    """One vector with values per message, chosen by the run's seed."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for vector in json_lines("codec/vectors.jsonl.gz"):
        if len(vector["hex"]) <= 1200:
            by_name.setdefault(SHORT_NAMES.get(vector["message"], vector["message"]), []).append(vector)
    chosen = [(name, dice.choice(vectors)) for name, vectors in sorted(by_name.items())]
    return [(message_class(name), vector["version"], bytes.fromhex(vector["hex"])) for name, vector in chosen]


def verdict(cls: type[Message], data: bytes, version: int) -> Message | MalformedMessage:
    try:
        return decode(cls, data, version)
    except MalformedMessage as error:
        return error


def again(message: Message, version: int) -> Message | None:
    """Written and read once more. None: an unknown tag came twice, which is read, as by Apache Kafka, and
    not written.
    """
    try:
        return decode(type(message), encode(message, version), version)
    except InvalidValue as error:
        if "a tag is set twice" not in str(error):
            raise
        return None


def survey_passes(cls: type[Message], data: bytes, version: int) -> bool:
    try:
        return codec._survey(cls, data, version, 0, codec.NO_BUDGET)[0] == len(data)
    except (ValueError, IndexError, struct.error):
        return False


def test_a_message_cut_at_any_byte_is_refused_with_its_place(run_seed: int, sampled: Callable[[str], None]) -> None:
    dice = random.Random(run_seed)
    cut = 0
    for cls, version, data in dice.sample(golden(dice), 90):
        for length in range(len(data)):
            error = verdict(cls, data[:length], version)
            assert isinstance(error, MalformedMessage), (cls.__name__, version, data.hex(), length)
            assert (error.message, error.version) == (cls.__name__, version)
            assert 0 <= error.position <= length
            assert "cannot be read" not in error.reason
            cut += 1
    sampled(f"{cut} cuts of golden messages (seed {run_seed})")
    assert cut > 1000


def test_a_flipped_bit_gives_a_message_or_a_typed_error(run_seed: int, sampled: Callable[[str], None]) -> None:
    dice = random.Random(run_seed)
    refused = read = 0
    for cls, version, data in golden(dice):
        for _ in range(12 if data else 0):
            position = dice.randrange(len(data) * 8)
            flipped = bytearray(data)
            flipped[position // 8] ^= 1 << position % 8
            found = verdict(cls, bytes(flipped), version)
            assert survey_passes(cls, bytes(flipped), version) == isinstance(found, Message)
            if isinstance(found, MalformedMessage):
                assert "cannot be read" not in found.reason, (cls.__name__, version, flipped.hex())
                refused += 1
            else:
                assert again(found, version) in (found, None) or "nan" in repr(found)
                read += 1
    sampled(f"{refused + read} flipped bits, {refused} refused (seed {run_seed})")
    assert refused > 100
    assert read > 100


@settings(SETTINGS, max_examples=400)
@given(data=st.data())
def test_made_up_bytes_give_a_message_or_a_typed_error(data: st.DataObject) -> None:
    cls = message_class(data.draw(st.sampled_from(sorted(MODULES))))
    version = data.draw(st.integers(cls.VERSIONS.lowest, cls.VERSIONS.highest))
    small = st.sampled_from([0, 1, 2, 3, 0x7F, 0x80, 0xFF])
    raw = bytes(data.draw(st.lists(small | st.integers(0, 255), max_size=60)))
    found = verdict(cls, raw, version)
    assert survey_passes(cls, raw, version) == isinstance(found, Message)
    if isinstance(found, MalformedMessage):
        assert "cannot be read" not in found.reason
        assert 0 <= found.position <= len(raw)


@settings(SETTINGS, max_examples=200)
@given(st.binary(max_size=80))
def test_garbage_on_the_port_gives_a_request_or_a_protocol_error(frame: bytes) -> None:
    with suppress(MalformedMessage, UnknownApiKey, UnsupportedApiVersion):
        assert decode_request(frame).size == len(frame)
