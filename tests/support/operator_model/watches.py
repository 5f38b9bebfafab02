"""The watches of an operator over `world_api`: what has changed there since the last time is brought to the index as
kopf's events would.

`late` is one step behind: what is brought is what there was a step ago, as on a busy API server.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kraft_operator.index import WATCHED, Index
from kraft_operator.kube import Kind, Object
from support.operator_model.world_api import Faults, WorldApi

Seen = dict[tuple[Kind, str], Object]


@dataclass(slots=True)
class Watches:
    api: WorldApi
    index: Index
    late: bool = False
    brought: Seen = field(default_factory=dict)
    pending: Seen | None = None

    def start(self) -> None:
        """The first lists, which nothing stands in the way of: from now on the index is whole."""
        faults, self.api.faults = self.api.faults, Faults()
        self.index.resync(())
        self.api.faults = faults
        self.brought = self.pending = self._all()

    def bring(self) -> None:
        current = self._all()
        told, self.pending = (self.pending if self.late and self.pending is not None else current), current
        for (kind, name), item in told.items():
            if self.brought.get((kind, name)) != item:
                self.index.note(kind, "MODIFIED", item)
        for (kind, name), item in self.brought.items():
            if (kind, name) not in told:
                self.index.note(kind, "DELETED", item)
        self.brought = told

    def _all(self) -> Seen:
        return {(kind, each["metadata"]["name"]): each for kind in WATCHED for each in self.api._all(kind)}
