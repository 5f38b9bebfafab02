"""Which replica consumers are sent to: one of the two selectors that Apache Kafka comes with, by name (KIP-392)."""

from __future__ import annotations

from typing import Final

from controller_runtime.configuration.security import Problem
from controller_runtime.configuration.settings import Settings

SELECTOR: Final = "replica.selector.class"
RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
SELECTORS: Final = (RACK_AWARE, "org.apache.kafka.common.replica.LeaderSelector")
"""There are no other classes to load. The second one is as none."""


def check_selector(settings: Settings, problem: Problem) -> None:
    if (settings.text(SELECTOR) or RACK_AWARE) not in SELECTORS:
        problem(SELECTOR, f"there is no other class to load: set {' or '.join(SELECTORS)}, or nothing")
