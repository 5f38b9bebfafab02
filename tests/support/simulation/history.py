"""What clients did to the metadata and what they were told, and whether one order of all changes explains it
(linearizability).

Topics are independent of each other, so each name has its own history (P-compositionality, Herlihy and Wing 1990);
within one, the search is Wing and Gong's with memory of what was tried (Lowe 2017). An operation without a clear answer
may take effect at any time after it was asked, or never. The simulator also reads: the newest image that any node calls
committed, at one moment, is a read that takes no time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from controller_runtime.identifiers import Uuid

NEVER: Final = float("inf")


class Kind(Enum):
    CREATE = "create"
    DELETE = "delete"
    SET = "set"
    READ = "read"


class Told(Enum):
    """What the client knows of its operation."""

    DONE = "done"
    EXISTS = "already exists"
    ABSENT = "does not exist"
    NOTHING = "no clear answer"


@dataclass(frozen=True)
class State:
    """One topic, as far as the clients change it; `None` instead of a State means that it does not exist."""

    topic_id: Uuid | None
    value: str | None = None
    """The one configuration that clients set."""


@dataclass
class Operation:
    kind: Kind
    called: float
    client: int
    value: str | None = None
    """What SET writes."""
    returned: float = NEVER
    told: Told = Told.NOTHING
    topic_id: Uuid | None = None
    """The id that an acknowledged CREATE was told."""
    seen: State | None = None
    """What READ saw."""

    def __str__(self) -> str:
        end = "…" if self.returned == NEVER else f"{self.returned:.4f}"
        what = self.seen if self.kind is Kind.READ else f"{self.value or ''} -> {self.told.value} {self.topic_id or ''}"
        return f"{self.called:.4f}..{end} client {self.client}: {self.kind.value} {what}"


@dataclass
class History:
    """The operations on every name, in the order in which they were called."""

    topics: dict[str, list[Operation]] = field(default_factory=dict)

    def call(self, name: str, operation: Operation) -> Operation:
        self.topics.setdefault(name, []).append(operation)
        return operation

    def drop(self, name: str, operation: Operation) -> None:
        """It certainly had no effect."""
        self.topics[name].remove(operation)

    def complaint(self) -> str | None:
        """The first topic whose history has no explanation."""
        for name, operations in self.topics.items():
            if not is_linearizable(operations):
                lines = "\n    ".join(str(operation) for operation in operations)
                return f"no order explains what clients saw of {name}:\n    {lines}"
        return None


def is_linearizable(operations: list[Operation]) -> bool:
    """Depth-first: the next one in the order is any that was called before all that are left had returned."""
    count = len(operations)
    required = sum(1 << n for n, operation in enumerate(operations) if operation.returned != NEVER)
    tried: set[tuple[int, State | None]] = set()
    stack: list[tuple[int, State | None]] = [(0, None)]
    while stack:
        done, state = stack.pop()
        if done & required == required:
            return True
        if (done, state) in tried:
            continue
        tried.add((done, state))
        left = [n for n in range(count) if not done >> n & 1]
        first_return = min(operations[n].returned for n in left)
        for n in left:
            if operations[n].called <= first_return:
                stack += [(done | 1 << n, after) for after in effects(operations[n], state)]
    return False


def effects(operation: Operation, state: State | None) -> list[State | None]:
    """The states that the operation may leave, if its answer fits this state; none if it does not fit."""
    unknown = operation.told is Told.NOTHING
    match operation.kind:
        case Kind.READ:
            return [operation.seen] if _agrees(operation.seen, state) else []
        case Kind.CREATE if state is None:
            return [State(operation.topic_id)] if unknown or operation.told is Told.DONE else []
        case Kind.CREATE:
            return [state] if unknown or operation.told is Told.EXISTS else []
        case _ if state is None:
            return [None] if unknown or operation.told is Told.ABSENT else []
        case Kind.DELETE:
            return [None] if unknown or operation.told is Told.DONE else []
        case Kind.SET:
            return [State(state.topic_id, operation.value)] if unknown or operation.told is Told.DONE else []
    raise AssertionError(operation.kind)


def _agrees(seen: State | None, state: State | None) -> bool:
    """A creation without an answer has an id that only a later read knows."""
    if seen is None or state is None:
        return seen is state
    return seen.value == state.value and state.topic_id in (None, seen.topic_id)
