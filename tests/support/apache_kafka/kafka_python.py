"""kafka-python, imported without its own deprecation warnings (our tests make every warning an error), and mended where
it forgets a socket.

Its connection attempts leave the socket open when the broker refuses or the client is closed meanwhile (3.0.12,
`kafka.net.inet`): the garbage collector then complains in whatever test runs. Here an attempt that fails closes what it
opened.
"""

from __future__ import annotations

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import KafkaAdminClient, NewTopic
    from kafka.errors import InvalidReplicationFactorError, TopicAlreadyExistsError
    from kafka.net.inet import KafkaNetSocket
    from kafka.net.sasl.oauth import AbstractTokenProvider
    from kafka.record.memory_records import MemoryRecords

_connect = KafkaNetSocket.sock_connect


async def _connect_or_close(self: Any, net: Any, sock: Any, sockaddr: Any, timeout_at: Any = None) -> Any:
    try:
        return await _connect(self, net, sock, sockaddr, timeout_at=timeout_at)
    except BaseException:
        sock.close()
        raise


KafkaNetSocket.sock_connect = _connect_or_close

__all__ = [
    "AbstractTokenProvider",
    "InvalidReplicationFactorError",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "MemoryRecords",
    "NewTopic",
    "TopicAlreadyExistsError",
    "TopicPartition",
]
