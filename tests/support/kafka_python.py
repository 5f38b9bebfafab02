"""kafka-python, imported without its own deprecation warnings (our tests make every warning an error).

It also forgets sockets when a broker dies: `forget_sockets` collects them while the test that made them may still ignore the complaint.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import KafkaAdminClient, NewTopic
    from kafka.errors import InvalidReplicationFactorError, TopicAlreadyExistsError
    from kafka.record.memory_records import MemoryRecords


@pytest.fixture
def forget_sockets() -> Iterator[None]:
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


__all__ = [
    "InvalidReplicationFactorError",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "MemoryRecords",
    "NewTopic",
    "TopicAlreadyExistsError",
    "TopicPartition",
    "forget_sockets",
]
