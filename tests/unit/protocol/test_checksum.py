from __future__ import annotations

import subprocess
import sys

import pytest

from controller_runtime.protocol.checksum import crc32c

pytestmark = pytest.mark.unit


def test_it_is_crc_32c_whole_or_in_pieces() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"6789", crc32c(b"12345")) == 0xE3069283


def test_it_does_not_drag_in_what_a_node_never_uses() -> None:
    script = "import controller_runtime.protocol.checksum, sys; print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
