"""How many copies the brokers of a cluster keep, said in every node's properties: of topics that say nothing themselves
and of those in which coordinators keep offsets and transactions.

Apache Kafka's own defaults are one copy of a topic and three of the coordinators' topics: a record that was
acknowledged is lost with its broker, and with fewer than three brokers no group gets on. The factor is chosen when the
cluster is formed, not beyond the brokers that it begins with, and kept in the ledger: pools that grow or shrink restart
nobody for it, and a cluster that was formed without it stays as it is. Another one is asked for in `spec.config`, and
costs a roll as any edit there. What the user sets wins, and who sets one key of a pair has both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from kraft_operator.api.combined import serving_groups
from kraft_operator.api.spec import ClusterSpec

MOST: Final = 3
"""As Apache Kafka keeps of its own topics: one may be lost while another one restarts."""
OF_THE_USER: Final = "# From spec.config."
"""The line of a node's properties below which they are the user's."""
PAIRS: Final = (
    ("default.replication.factor", "min.insync.replicas"),
    ("offsets.topic.replication.factor", ""),
    ("transaction.state.log.replication.factor", "transaction.state.log.min.isr"),
    ("share.coordinator.state.topic.replication.factor", "share.coordinator.state.topic.min.isr"),
)
"""Copies, and how many of them have to be in sync for a write that waits for all."""


def factor_for(spec: ClusterSpec) -> int:
    """Of a cluster that is formed now; 0 as long as it has no brokers."""
    return min(MOST, sum(group.replicas for group in serving_groups(spec)))


def replication_properties(factor: int, given: Collection[str]) -> dict[str, str]:
    """`given` are the keys that the user sets. Nothing of a factor of 0: the nodes' own defaults hold."""
    if not factor:
        return {}
    found = {}
    for copies, in_sync in PAIRS:
        if copies in given or in_sync in given:
            continue
        found[copies] = str(factor)
        found |= {in_sync: str(in_sync_of(factor))} if in_sync else {}
    return found


def in_sync_of(factor: int) -> int:
    """One copy may be away."""
    return max(1, factor - 1)


def factor_in(properties: Iterable[str]) -> int:
    """Of a cluster whose ledger and memory are lost: what the operator has written into its nodes' properties."""
    for text in properties:
        lines = dict(line.partition("=")[::2] for line in text.partition(OF_THE_USER)[0].splitlines())
        found = next((lines[copies] for copies, _ in PAIRS if copies in lines), "")
        if found.isascii() and found.isdigit():
            return min(MOST, int(found))
    return 0
