"""What each of our roles serves, and how completely: the table behind ApiVersions, dispatch and
`docs/compatibility.md`.

Add a row when a handler for it is wired, with the versions it really serves when they are fewer than Kafka's. A role
advertises exactly these rows, so a client never meets an API that answers nothing. `docs/compatibility.md` is generated
from here.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from controller_runtime.protocol.api_keys import ApiKey, Role, api
from controller_runtime.protocol.schema import Versions
from controller_runtime.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


class Status(StrEnum):
    """How much of an API is there."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    WIRE_ONLY = "wire only"
    """The message is understood, nothing answers it: not advertised."""
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Served:
    """One API on one role. `versions` narrows Kafka's range; `note` says what is missing."""

    status: Status = Status.SUPPORTED
    note: str = ""
    versions: Versions | None = None


CONTROLLER: Final[Mapping[ApiKey, Served]] = {
    ApiKey.FETCH: Served(note="the metadata partition only"),
    ApiKey.API_VERSIONS: Served(),
    ApiKey.CREATE_TOPICS: Served(Status.PARTIAL, "replication factor 1"),
    ApiKey.DELETE_TOPICS: Served(),
    ApiKey.VOTE: Served(),
    ApiKey.BEGIN_QUORUM_EPOCH: Served(),
    ApiKey.END_QUORUM_EPOCH: Served(),
    ApiKey.DESCRIBE_QUORUM: Served(),
    ApiKey.DESCRIBE_CONFIGS: Served(
        Status.PARTIAL, "topics, groups and client metrics whole; of nodes what is set, not the defaults; no loggers"
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Served(note="there are no loggers; what this node could not honour is refused"),
    ApiKey.UPDATE_FEATURES: Served(),
    ApiKey.ENVELOPE: Served(),
    ApiKey.FETCH_SNAPSHOT: Served(),
    ApiKey.DESCRIBE_CLUSTER: Served(),
    ApiKey.BROKER_REGISTRATION: Served(),
    ApiKey.BROKER_HEARTBEAT: Served(),
    ApiKey.UNREGISTER_BROKER: Served(),
    ApiKey.ALLOCATE_PRODUCER_IDS: Served(),
    ApiKey.CONTROLLER_REGISTRATION: Served(),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: Served(),
    ApiKey.ADD_RAFT_VOTER: Served(),
    ApiKey.REMOVE_RAFT_VOTER: Served(),
    ApiKey.UPDATE_RAFT_VOTER: Served(),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Served(),
}

BROKER: Final[Mapping[ApiKey, Served]] = {
    ApiKey.PRODUCE: Served(),
    ApiKey.FETCH: Served(),
    ApiKey.LIST_OFFSETS: Served(),
    ApiKey.METADATA: Served(),
    ApiKey.API_VERSIONS: Served(),
    ApiKey.CREATE_TOPICS: Served(Status.PARTIAL, "forwarded to the controller"),
    ApiKey.DELETE_TOPICS: Served(note="forwarded to the controller"),
    ApiKey.INIT_PRODUCER_ID: Served(Status.PARTIAL, "idempotent producers"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Served(),
    ApiKey.DESCRIBE_CONFIGS: Served(
        Status.PARTIAL, "topics, groups and client metrics whole; of nodes what is set, not the defaults; no loggers"
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Served(note="checked, then forwarded to the controller"),
    ApiKey.DESCRIBE_QUORUM: Served(note="forwarded to the controller"),
    ApiKey.UPDATE_FEATURES: Served(note="forwarded to the controller"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Served(note="forwarded to the controller"),
    ApiKey.DESCRIBE_CLUSTER: Served(),
    ApiKey.UNREGISTER_BROKER: Served(note="forwarded to the controller"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Served(),
    ApiKey.ADD_RAFT_VOTER: Served(note="forwarded to the controller"),
    ApiKey.REMOVE_RAFT_VOTER: Served(note="forwarded to the controller"),
}

TABLES: Final[Mapping[Role, Mapping[ApiKey, Served]]] = {Role.BROKER: BROKER, Role.CONTROLLER: CONTROLLER}


@cache
def served(role: Role) -> Mapping[ApiKey, Versions]:
    """The versions that a role really answers, by key, ascending."""
    rows = sorted(TABLES[role].items())
    answered = (Status.SUPPORTED, Status.PARTIAL)
    return {key: row.versions or api(key).versions for key, row in rows if row.status in answered}


@cache
def advertised(role: Role) -> Mapping[ApiKey, Versions]:
    """What ApiVersions lists: as served, but Produce from 0, because librdkafka needs it (KAFKA-18659)."""
    found = dict(served(role))
    if ApiKey.PRODUCE in found:
        found[ApiKey.PRODUCE] = Versions(0, found[ApiKey.PRODUCE].highest)
    return found
