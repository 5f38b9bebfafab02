"""What a node does: it controls (a voter of the metadata quorum), it serves (a broker), or both.

Whoever decides asks for the one that the decision is about, and never takes the other for its opposite. Labels and the
ledger keep it as one word, which is what selectors of objects that live were made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class Roles:
    controls: bool
    serves: bool

    @property
    def label(self) -> str:
        """As labels and the ledger have it."""
        if self.controls and self.serves:
            return "combined"
        return "controller" if self.controls else "broker"

    @property
    def process_roles(self) -> str:
        """As Apache Kafka's process.roles has it."""
        return ",".join(name for name, has in (("broker", self.serves), ("controller", self.controls)) if has)


CONTROLLER: Final = Roles(controls=True, serves=False)
BROKER: Final = Roles(controls=False, serves=True)
COMBINED: Final = Roles(controls=True, serves=True)
NEITHER: Final = Roles(controls=False, serves=False)
"""Of an object that bears no label of ours."""
_BY_LABEL: Final = {each.label: each for each in (CONTROLLER, BROKER, COMBINED)}


class OfNode(Protocol):
    """A pod, a claim, a set, an entry of the ledger."""

    @property
    def role(self) -> str: ...


def roles_of(one: OfNode) -> Roles:
    return _BY_LABEL.get(one.role, NEITHER)


def controls(one: OfNode) -> bool:
    return roles_of(one).controls


def serves(one: OfNode) -> bool:
    return roles_of(one).serves


def meet(one: OfNode, other: OfNode) -> bool:
    """Whether both do the same in some part: what the one needs is at stake when the other stops."""
    return (controls(one) and controls(other)) or (serves(one) and serves(other))
