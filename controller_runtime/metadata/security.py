"""What the log holds for authorizers and authenticators: ACLs, SCRAM credentials, delegation tokens, client quotas.

Only the values; who may do what is decided elsewhere. They are replayed and written to snapshots whole, so that a real
Kafka's log survives a passage through this runtime even where no request here changes them yet.
"""

from __future__ import annotations

from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class AccessControlEntry:
    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(frozen=True, slots=True)
class ScramCredential:
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


@dataclass(frozen=True, slots=True)
class DelegationToken:
    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, entity name) pairs sorted by type; a name of None is the default entity."""
