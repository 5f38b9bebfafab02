"""Kafka's AclOperations, and authorized operations (KIP-430): a bit for each that the asker may do with a resource of a
kind.

Without an authorizer everybody may do everything that a resource of the kind knows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Operation(IntEnum):
    """AclOperation, with its code."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    @property
    def shown(self) -> str:
        """As Kafka writes it: `ClusterAction`."""
        return self.name.title().replace("_", "")


def _bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


_CONFIGS: Final = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
ALL_OF_TOPIC: Final = _bits(
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    *_CONFIGS,
)
ALL_OF_CLUSTER: Final = _bits(
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.IDEMPOTENT_WRITE,
    *_CONFIGS,
)
ALL_OF_GROUP: Final = _bits(Operation.READ, Operation.DELETE, Operation.DESCRIBE, *_CONFIGS)
NOT_ASKED: Final = -(2**31)
