"""How long a request may wait for its decision, as in Apache Kafka (QC-05): as long as its client says, a heartbeat for
half the time between two of them, anything else for ever.

What nobody waits for any more is answered REQUEST_TIMED_OUT and changes nothing. The wait for the commit, once it is
decided, does not count.
"""

from __future__ import annotations

from controller_runtime.answers.refused import Refused
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
)
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.create_partitions_request import CreatePartitionsRequest
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest
from controller_runtime.protocol.schema import Message


def patience_s(request: Message, heartbeat_interval_s: float) -> float | None:
    """None: for ever."""
    match request:
        case (
            CreateTopicsRequest()
            | DeleteTopicsRequest()
            | CreatePartitionsRequest()
            | ElectLeadersRequest()
            | AlterPartitionReassignmentsRequest()
        ):
            return request.timeout_ms / 1000
        case BrokerHeartbeatRequest():
            return heartbeat_interval_s / 2
        case _:
            return None


def check_time(timeout_ms: int) -> None:
    """Of a request that leaves something to decide. Raises Refused: no time at all is over at once."""
    if timeout_ms <= 0:
        raise Refused(ErrorCode.REQUEST_TIMED_OUT)
