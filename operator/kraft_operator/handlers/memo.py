"""What handlers are given: where to put keys, and whom to tell that the watch lives."""

from __future__ import annotations

from dataclasses import dataclass

from kraft_operator.health_server import Heartbeats
from kraft_operator.work_queue import WorkQueue


@dataclass(slots=True)
class Memo:
    queue: WorkQueue
    heartbeats: Heartbeats
