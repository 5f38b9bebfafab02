"""`__consumer_offsets`, `__transaction_state` and `__share_group_state`, made when a group, a transactional id or a
share partition is looked for first: as the configuration of this broker says.
"""

from __future__ import annotations

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.ports import TOPIC
from controller_runtime.coordinator.share_state.ports import TOPIC as SHARES
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.coordinator.transactions.ports import TOPIC as TRANSACTIONS
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.parts.effects import Log
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.values import dataclass


def offsets_topic(settings: GroupSettings) -> CreatableTopic:
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(settings.topic_segment_bytes),
    }
    return CreatableTopic(
        name=TOPIC,
        num_partitions=settings.topic_partitions,
        replication_factor=settings.topic_replication_factor,
        configs=tuple(CreatableTopicConfig(name=name, value=value) for name, value in configs.items()),
    )


def transactions_topic(settings: TransactionSettings) -> CreatableTopic:
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": str(settings.topic_min_isr),
        "segment.bytes": str(settings.topic_segment_bytes),
        "unclean.leader.election.enable": "false",
    }
    return CreatableTopic(
        name=TRANSACTIONS,
        num_partitions=settings.topic_partitions,
        replication_factor=settings.topic_replication_factor,
        configs=tuple(CreatableTopicConfig(name=name, value=value) for name, value in configs.items()),
    )


def share_state_topic(settings: ShareStateSettings) -> CreatableTopic:
    configs = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": str(settings.topic_min_isr),
        "retention.ms": "-1",
        "segment.bytes": str(settings.topic_segment_bytes),
    }
    return CreatableTopic(
        name=SHARES,
        num_partitions=settings.topic_partitions,
        replication_factor=settings.topic_replication_factor,
        configs=tuple(CreatableTopicConfig(name=name, value=value) for name, value in configs.items()),
    )


_PREFIXES = {TOPIC: "offsets.topic", TRANSACTIONS: "transaction.state.log", SHARES: "share.coordinator.state.topic"}
"""Of the names of their configurations."""


@dataclass(frozen=True, slots=True)
class InternalTopicToBeMade:
    """The broker's own wish; clients that need the topic ask again, so whatever the answer, so does the broker."""

    name: str
    creating: set[str]
    """Of all topics that are being asked for."""

    @property
    def api_key(self) -> int:
        return ApiKey.CREATE_TOPICS

    def answered(self, _: bytes) -> list[BrokerEffect]:
        raise ProtocolError("it was asked in no envelope")

    def made(self, answer: CreateTopicsResponse) -> list[BrokerEffect]:
        self.creating.discard(self.name)
        for each in answer.topics:
            if each.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                return [self._failed(each.error_message or ErrorCode(each.error_code).name)]
        return [Log("info", f"asked for topic {self.name}")]

    def refused(self, code: ErrorCode, words: str) -> list[BrokerEffect]:
        self.creating.discard(self.name)
        return [self._failed(f"{words} ({code.name})")]

    def unreadable(self) -> list[BrokerEffect]:
        return self.refused(ErrorCode.UNSUPPORTED_VERSION, "the controller cannot read the request")

    def failed(self) -> list[BrokerEffect]:
        self.creating.discard(self.name)
        return []

    def _failed(self, why: str) -> Log:
        remedy = f"set {_PREFIXES[self.name]}.replication.factor to what the brokers can keep"
        return Log("warning", f"{remedy}, if that is it: topic {self.name} cannot be made: {why}")
