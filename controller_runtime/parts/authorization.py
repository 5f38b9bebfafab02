"""What a request needs, as values: Kafka's operations on Kafka's resources.

    need(ALTER_CLUSTER)
    need(CREATE_CLUSTER, CREATE_TOPIC)                       # one of the two
    need(DELETE_CLUSTER, (DESCRIBE_TOPIC, DELETE_TOPIC))     # or both on each topic
    need(READ_TOPIC, part="consumers")                       # of these requests, or of this part of one

Nothing here decides: the table (`api_table`) states what is needed, and the gate of each role asks the authorizer.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.values import dataclass


class Resource(StrEnum):
    """ResourceType. There is one cluster; of the others, each that the request names."""

    TOPIC = "Topic"
    GROUP = "Group"
    CLUSTER = "Cluster"
    TRANSACTIONAL_ID = "TransactionalId"
    DELEGATION_TOKEN = "DelegationToken"  # noqa: S105 - a kind of resource
    USER = "User"
    ANY_TOPIC = "any Topic"
    """Whichever: Kafka's `authorizeByResourceType`."""


@dataclass(frozen=True, slots=True)
class Right:
    """An operation on a resource of a kind."""

    operation: Operation
    resource: Resource

    def __str__(self) -> str:
        return f"{self.operation.shown} on {self.resource}"


@dataclass(frozen=True, slots=True)
class Need:
    """One of these alternatives, each of it all of its rights."""

    alternatives: tuple[tuple[Right, ...], ...]
    part: str = ""
    """Which requests, or what of them, need it; nothing: all."""

    def __str__(self) -> str:
        words = " or ".join(
            f"({' and '.join(map(str, rights))})" if len(rights) > 1 else str(rights[0]) for rights in self.alternatives
        )
        return f"{self.part}: {words}" if self.part else words


Authorization = tuple[Need, ...]
"""All of these. An empty one: everybody may."""

NOTHING: Final[Authorization] = ()


def need(*alternatives: Right | tuple[Right, ...], part: str = "") -> Need:
    return Need(tuple(each if isinstance(each, tuple) else (each,) for each in alternatives), part)


def shown(authorization: Authorization) -> str:
    """For people."""
    return "; ".join(map(str, authorization)) or "nothing"
