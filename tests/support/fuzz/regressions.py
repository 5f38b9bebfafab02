"""What the fuzz found once: a file per finding, a line per frame, sent again in every run.

# why it was wrong
broker 00130004...          the target (`shots.Target`) and the frame without its length
broker raw ffffffff         bytes that go out as they are, on a connection of their own
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Final

from support.fuzz.shots import Shot, Target

_REPEATED: Final = re.compile(r"\{([0-9a-f]+)\*(\d+)\}")
FOLDER: Final = Path(__file__).parents[2] / "fuzz" / "regressions"
FIRST_NUMBER: Final = 1 << 30
"""Correlation ids that no frame of a seed has."""


def read(path: Path) -> list[Shot]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [_shot(FIRST_NUMBER + number, line) for number, line in enumerate(lines)]


def _shot(number: int, line: str) -> Shot:
    target, *words = line.split()
    payload = bytes.fromhex(_REPEATED.sub(lambda found: found[1] * int(found[2]), words[-1]))
    if words[0] == "raw":
        return Shot(number, Target(target), -1, -1, payload, is_frame=False)
    payload = payload[:4] + number.to_bytes(4, "big") + payload[8:]
    key, version = struct.unpack(">hh", payload[:4])
    return Shot(number, Target(target), key, version, payload)
