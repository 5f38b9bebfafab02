"""FindCoordinator: who leads the partition that a group belongs to.

So with transactional ids and the partitions of `__transaction_state`, and with partitions that a group shares and those
of `__share_group_state`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.coordinator.coordinator import GroupCoordinator, partition_for
from controller_runtime.coordinator.ports import TOPIC
from controller_runtime.coordinator.share_state.ports import TOPIC as SHARES
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.coordinator.transactions.ports import TOPIC as TRANSACTIONS
from controller_runtime.identifiers import Endpoint
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from controller_runtime.values import dataclass

WORDS: Final = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.INVALID_REQUEST: "This most likely occurs because of a request being malformed by the client library or "
    "the message was sent to an incompatible broker. See the broker logs for more details.",
}
"""Kafka's, in answers that have room for one error."""
GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
_TOPICS: Final = {GROUP: TOPIC, TRANSACTION: TRANSACTIONS, SHARE: SHARES}
FIRST_VERSION_WITH_KEYS: Final = 4
_FIRST_VERSION_WITH_SHARE: Final = 6


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else an answer depends on."""

    groups: GroupCoordinator
    reached: Callable[[int], Endpoint | None]
    """Where a broker that is up is reached by who asks."""
    make_topic: Callable[[str], None]
    """Ask for a topic of `_TOPICS`: they are made when they are needed first."""


def find_coordinators(around: Surroundings, request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
    if version < FIRST_VERSION_WITH_KEYS:
        found = _find(around, request.key, request.key_type, version)
        return FindCoordinatorResponse(
            error_code=found.error_code,
            error_message=WORDS[ErrorCode(found.error_code)] if found.error_code else "NONE",
            node_id=found.node_id,
            host=found.host,
            port=found.port,
        )
    each = (_find(around, key, request.key_type, version) for key in request.coordinator_keys)
    return FindCoordinatorResponse(coordinators=tuple(each))


def _find(around: Surroundings, key: str, key_type: int, version: int) -> Coordinator:
    if key_type not in _TOPICS or (key_type == SHARE and version < _FIRST_VERSION_WITH_SHARE):
        return nobody(key, ErrorCode.INVALID_REQUEST, WORDS[ErrorCode.INVALID_REQUEST])
    hashed = key
    if key_type == SHARE:
        try:
            hashed = str(ShareKey.parse(key))
        except ValueError:
            return nobody(key, ErrorCode.INVALID_REQUEST)
    name = _TOPICS[key_type]
    topic = around.groups.topic.image.topics.named(name)
    if topic is None:
        around.make_topic(name)
        return nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    leader = topic.leader(partition_for(hashed, topic.partition_count))
    at = None if leader is None or leader < 0 else around.reached(leader)
    if leader is None or at is None:
        return nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key=key, node_id=leader, host=at.host, port=at.port)


def nobody(key: str, error: ErrorCode, words: str = "") -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=words)
