"""kafka-python, imported without its own deprecation warnings (our tests make every warning an error)."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import KafkaAdminClient, NewTopic
    from kafka.errors import InvalidReplicationFactorError, TopicAlreadyExistsError
    from kafka.record.memory_records import MemoryRecords

__all__ = [
    "InvalidReplicationFactorError",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "MemoryRecords",
    "NewTopic",
    "TopicAlreadyExistsError",
    "TopicPartition",
]
