"""What a client quota may say: which entities there are, which keys each has, and which values (KIP-546, KIP-612).

An entity is a user, a client id, both, or an IP address; a name of None is the default entity of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import Final

from controller_runtime.metadata.config_values import shown
from controller_runtime.metadata.security import QuotaEntity

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"


Quotas = Mapping[QuotaEntity, Mapping[str, float]]
Client = tuple[str, str]
"""(user, client id); "" where the quota does not ask for it."""


class _Kind(Enum):
    """Kafka's types of configurations, and the highest value of those that are whole numbers."""

    INT = float(2**31 - 1)
    LONG = float(2**63 - 1)
    DOUBLE = float("inf")


_KEYS_OF_CLIENTS: Final = {
    PRODUCER_BYTE_RATE: _Kind.LONG,
    CONSUMER_BYTE_RATE: _Kind.LONG,
    REQUEST_PERCENTAGE: _Kind.DOUBLE,
    CONTROLLER_MUTATION_RATE: _Kind.DOUBLE,
}
_KEYS_OF_ADDRESSES: Final = {CONNECTION_CREATION_RATE: _Kind.INT}
_FRACTION: Final = 1e-6
"""Nearer than this to a whole number is one."""


class BadQuota(ValueError):
    """An entity, a key or a value that no quota may have, in Kafka's words."""


def entity_of(parts: Mapping[str, str | None]) -> QuotaEntity:
    """As the image names it."""
    return tuple(sorted(parts.items(), key=lambda pair: pair[0]))


def keys_of(entity: QuotaEntity) -> Mapping[str, _Kind]:
    """The keys that quotas of this entity may have. Raises BadQuota."""
    if not entity:
        raise BadQuota("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            raise BadQuota(f"Unhandled client quota entity type: {shown(kind)}")
        if name == "":
            raise BadQuota(f"Empty {kind} not supported")
    parts = dict(entity)
    if IP not in parts:
        return _KEYS_OF_CLIENTS
    if len(parts) > 1:
        raise BadQuota("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    address = parts[IP]
    if address is not None and not _is_address(address):
        raise BadQuota(f"{shown(address)} is not a valid IP or resolvable host.")
    return _KEYS_OF_ADDRESSES


def check_value(keys: Mapping[str, _Kind], key: str, value: float) -> None:
    """Raises BadQuota."""
    kind = keys.get(key)
    if kind is None:
        raise BadQuota(f"Invalid configuration key {shown(key)}")
    if not value > 0:
        raise BadQuota(f"Quota {key} must be greater than 0")
    if kind is _Kind.DOUBLE:
        return
    if value > kind.value:
        article = "an" if kind is _Kind.INT else "a"
        raise BadQuota(f"Proposed value for {key} is too large for {article} {kind.name}.")
    if value % 1.0 > _FRACTION:
        raise BadQuota(f"{key} cannot be a fractional value.")


def quota_of(quotas: Quotas, key: str, user: str, client_id: str) -> tuple[Client, float] | None:
    """The most special quota of a client, and who shares it; None: it has none."""
    levels: tuple[tuple[QuotaEntity, Client], ...] = (
        (((CLIENT_ID, client_id), (USER, user)), (user, client_id)),
        (((CLIENT_ID, None), (USER, user)), (user, client_id)),
        (((USER, user),), (user, "")),
        (((CLIENT_ID, client_id), (USER, None)), (user, client_id)),
        (((CLIENT_ID, None), (USER, None)), (user, client_id)),
        (((USER, None),), (user, "")),
        (((CLIENT_ID, client_id),), ("", client_id)),
        (((CLIENT_ID, None),), ("", client_id)),
    )
    for entity, shared_by in levels:
        rate = quotas.get(entity, {}).get(key)
        if rate is not None and isfinite(rate):
            return shared_by, rate
    return None


def _is_address(text: str) -> bool:
    """Of a host, not of its name: names are not resolved while deciding."""
    from ipaddress import ip_address

    try:
        ip_address(text)
    except ValueError:
        return False
    return True
