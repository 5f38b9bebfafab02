"""What an archive puts into a store can be read with its key alone, under its own name, whole."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from metadata_pipeline.archive.sealing import CHUNK_BYTES, BadKeys, BadSeal, Keys, load_keys, seal, sealed_with, unseal

KEYS = Keys({"2026-11": b"a" * 32})
SIZES = (0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_sealed_is_opened_again(size: int) -> None:
    data = os.urandom(size)
    sealed = seal(data, "log/1", KEYS)
    assert unseal(sealed, "log/1", KEYS) == data
    assert size < 16 or data[:16] not in sealed
    assert seal(data, "log/1", KEYS) != sealed, "a salt of its own"


def test_another_key_name_bit_order_or_length_is_refused() -> None:
    data = os.urandom(2 * CHUNK_BYTES + 5)
    sealed = seal(data, "log/1", KEYS)
    head = len(sealed) - len(data) - 3 * 16
    step = CHUNK_BYTES + 16
    first, second, rest = sealed[head : head + step], sealed[head + step : head + 2 * step], sealed[head + 2 * step :]
    hostile = [
        sealed[:-1],
        sealed[: head + 2 * step],  # without its last chunk
        sealed[:head] + second + first + rest,
        sealed[:head] + first + rest,
        sealed + rest,
        *(
            sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
            for at in (0, 7, 8, head - 1, head, len(sealed) - 1)
        ),
        b"",
    ]
    for number, each in enumerate(hostile):
        with pytest.raises(BadSeal):
            unseal(each, "log/1", KEYS)
            pytest.fail(f"variant {number} was opened")
    with pytest.raises(BadSeal):
        unseal(sealed, "log/2", KEYS)
    with pytest.raises(BadSeal):
        unseal(sealed, "log/1", Keys({"2026-11": b"b" * 32}))
    with pytest.raises(BadSeal, match="sealed with the key 2026-11, which is not among 2027-01"):
        unseal(sealed, "log/1", Keys({"2027-01": b"a" * 32}))


def test_a_new_key_seals_and_the_old_ones_still_open(tmp_path: Path) -> None:
    (tmp_path / "2026-11").write_bytes(base64.b64encode(b"a" * 32) + b"\n")
    old = seal(b"before", "log/1", load_keys(tmp_path))
    (tmp_path / "2026-12").write_bytes(base64.b64encode(b"c" * 32))
    (tmp_path / "..data").mkdir()  # as Kubernetes mounts a Secret
    keys = load_keys(tmp_path)
    assert sealed_with(seal(b"after", "log/2", keys)) == "2026-12"
    assert unseal(old, "log/1", keys) == b"before"
    assert "aaaa" not in repr(keys)


def test_what_is_no_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadKeys, match="there is none"):
        load_keys(tmp_path)
    for text, why in ((b"short", "Base64"), (base64.b64encode(b"x" * 16), "there are 16")):
        (tmp_path / "key").write_bytes(text)
        with pytest.raises(BadKeys, match=why):
            load_keys(tmp_path)
