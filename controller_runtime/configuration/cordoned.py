"""`cordoned.log.dirs` (KIP-1066): which log directories take no new replicas, as Apache Kafka checks it at start."""

from __future__ import annotations

from typing import Final

from controller_runtime.configuration.security import Problem
from controller_runtime.configuration.settings import Settings

CORDONED: Final = "cordoned.log.dirs"
ALL: Final = "*"


def check_cordoned(settings: Settings, problem: Problem) -> None:
    named, own = settings.items(CORDONED), settings.items("log.dirs") or settings.items("log.dir")
    if ALL in named and len(named) > 1:
        problem(CORDONED, f"when it is set to {ALL}, it must not contain other values")
    if missing := [one for one in named if one not in own and one != ALL]:
        problem(CORDONED, f"all entries must be present in log.dirs or log.dir, which do not have {', '.join(missing)}")
