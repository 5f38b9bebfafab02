"""The words of Kafka's ACLs; a word's place is its number on the wire and in the log."""

from __future__ import annotations

from typing import Final

RESOURCE_TYPES: Final = (
    "UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER",
)  # fmt: skip
PATTERN_TYPES: Final = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
OPERATIONS: Final = (
    "UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
PERMISSION_TYPES: Final = ("UNKNOWN", "ANY", "DENY", "ALLOW")
