"""What handlers are given: where to put objects, and keys."""

from __future__ import annotations

from dataclasses import dataclass

from kraft_operator.index import Index
from kraft_operator.work_queue import WorkQueue


@dataclass(slots=True)
class Memo:
    queue: WorkQueue
    index: Index
