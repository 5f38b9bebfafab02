"""What Apache Kafka says of its configurations, for clients that ask for it (`documentation.json`, 105 KB, read once,
when the first one asks).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

from controller_runtime.metadata.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC

_WHOSE: Final = {TOPIC: "topic", BROKER: "node", CLIENT_METRICS: "client metrics", GROUP: "group"}


@cache
def documentation(resource_type: int) -> Mapping[str, str]:
    """The text of each name of a type of resources; empty for what is not recorded."""
    from pathlib import Path

    texts: dict[str, dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return texts[_WHOSE[resource_type]]
