"""What is around the group coordinator of a broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller_runtime.broker.forwarding import Forwarder
from controller_runtime.broker.long_answers import LongAnswers
from controller_runtime.broker.peers import Peers
from controller_runtime.parts.events import ConnectionInfo
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Outside:
    """What groups use of the rest of the broker, beside its partitions."""

    forwarder: Forwarder
    long: LongAnswers
    faults: FailedRequests
    version: Callable[[], int]
    """Of the newest image: where it ends."""
    may_describe: Callable[[ConnectionInfo, str], bool]
    """Whether who speaks there may know of a topic."""
    may_create: Callable[[ConnectionInfo, list[str]], list[str]]
    """Of these topics those that who speaks there may make."""
    peers: Peers
    """Brokers, this one among them, as share coordinators."""
    further_topics: Mapping[str, CreatableTopic]
    """`__transaction_state` and `__share_group_state`, as they are made when their coordinator is looked for first."""
