"""Secrets end here: what is replaced, and by what, before any column, JSON, file or message is made of a record.

Secret are the salts and keys of SCRAM credentials, the ids of delegation tokens (their HMAC is made of nothing else but
the master key), configuration values of type password and those whose name Apache Kafka 4.3 does not know for the
resource, and the bytes of whatever could not be decoded. Each is replaced by `redacted:` and a fingerprint, an
HMAC-SHA-256 under a key that belongs to the lake: equal secrets look equal and a change is seen, but nobody without the
key can try passwords against the table. Without a key it is `redacted` alone. Callers may not assume that an unlisted
field is harmless because it is unlisted: unknown tagged fields are never shown either.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from controller_runtime.configuration.names import BY_NAME
from controller_runtime.metadata.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.schema import Message

M = TypeVar("M", bound=Message)

REDACTED: Final = "redacted"
KEY_FILE_VARIABLE: Final = "KRAFT_PIPELINE_REDACTION_KEY_FILE"
SHORTEST_KEY: Final = 16
_FINGERPRINT_HEX: Final = 32
PASSWORD: Final = "password"  # noqa: S105 - the name of a type

SECRET_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "UserScramCredentialRecord": ("salt", "stored_key", "server_key"),
    "DelegationTokenRecord": ("token_id",),
    "RemoveDelegationTokenRecord": ("token_id",),
}
"""Fields that are replaced whole; ConfigRecord's value depends on its name."""

_LISTENER_PREFIX: Final = re.compile(r"listener\.name\.[^.]+\.")
_MECHANISMS: Final = ("plain.", "scram-sha-256.", "scram-sha-512.", "gssapi.", "oauthbearer.")
_THROTTLES: Final = frozenset(
    (
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
)
"""Dynamic configurations of brokers that are not in a broker's configuration file."""
_OF_GROUPS: Final = frozenset(
    (
        "consumer.assignment.interval.ms", "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms",
        "share.assignment.interval.ms", "share.auto.offset.reset", "share.delivery.count.limit",
        "share.heartbeat.interval.ms", "share.isolation.level", "share.partition.max.record.locks",
        "share.record.lock.duration.ms", "share.renew.acknowledge.enable", "share.session.timeout.ms",
        "streams.assignment.interval.ms", "streams.heartbeat.interval.ms", "streams.initial.rebalance.delay.ms",
        "streams.num.standby.replicas", "streams.session.timeout.ms",
    )
)  # fmt: skip
_OF_CLIENT_METRICS: Final = frozenset(("interval.ms", "match", "metrics"))


class InvalidKey(ValueError):
    """A redaction key that is missing or too short; the message names the file, never the key."""


def new_key() -> bytes:
    """A key for a new lake, as text that fits a file."""
    return secrets.token_hex(32).encode()


def load_key(path: str | None = None) -> bytes | None:
    """The key in a file, or in the file that the environment names; None when neither is given."""
    path = path or os.environ.get(KEY_FILE_VARIABLE)
    if not path:
        return None
    try:
        key = Path(path).read_bytes().strip()
    except OSError as error:
        raise InvalidKey(f"the redaction key {path} cannot be read: {error.strerror}") from error
    if len(key) < SHORTEST_KEY:
        raise InvalidKey(f"the redaction key {path} has {len(key)} bytes, at least {SHORTEST_KEY} are needed")
    return key


@lru_cache(maxsize=4096)
def is_secret_config(resource_type: int, name: str) -> bool:
    """Whether a value must be hidden: of type password, or of no type that Kafka 4.3 knows for this kind of
    resource.
    """
    match resource_type:
        case _ if resource_type == TOPIC:
            return name not in TOPIC_CONFIGS
        case _ if resource_type == BROKER:
            return name not in _THROTTLES and _broker_type(name) in (None, PASSWORD)
        case _ if resource_type == GROUP:
            return name not in _OF_GROUPS
        case _ if resource_type == CLIENT_METRICS:
            return name not in _OF_CLIENT_METRICS
        case _:
            return True


def _broker_type(name: str) -> str | None:
    """A broker's configuration may be set for one listener, and there for one SASL mechanism."""
    row = BY_NAME.get(name)
    if row is not None:
        return row.kind
    bare = _LISTENER_PREFIX.sub("", name, count=1)
    if bare == name:
        return None
    for mechanism in _MECHANISMS:
        bare = bare.removeprefix(mechanism)
    row = BY_NAME.get(bare)
    return None if row is None else row.kind


@dataclass(frozen=True, slots=True)
class Redactor:
    """How one lake hides secrets. `include_secrets` shows them, for `dump` alone."""

    key: bytes | None = None
    include_secrets: bool = False

    def __repr__(self) -> str:
        return f"Redactor(key={'set' if self.key else None}, include_secrets={self.include_secrets})"

    def fingerprint(self, secret: bytes) -> str:
        """What stands for a secret."""
        if self.key is None:
            return REDACTED
        return f"{REDACTED}:{hmac.digest(self.key, secret, 'sha256').hex()[:_FINGERPRINT_HEX]}"

    def changes(self, record: Message) -> dict[str, str]:
        """The fields of a record that must not be seen, with what is shown instead. Empty for most."""
        if self.include_secrets:
            return {}
        if isinstance(record, ConfigRecord):
            if record.value is None or not is_secret_config(record.resource_type, record.name):
                return {}
            return {"value": self.fingerprint(record.value.encode())}
        names = SECRET_FIELDS.get(type(record).__name__, ())
        return {name: self.fingerprint(_bytes(getattr(record, name))) for name in names}

    def hidden(self, record: M) -> tuple[M, dict[str, str]]:
        """The record without its secrets (bytes fields emptied), and what is to be shown in their places."""
        changes = self.changes(record)
        if not changes:
            return record, changes
        empty = {name: type(getattr(record, name))() for name in changes}
        return cast(M, replace(cast(Any, record), **empty)), changes

    def unknown(self, data: bytes) -> dict[str, Any]:
        """What may be shown of bytes that nobody understands."""
        return {"length": len(data), "fingerprint": self.fingerprint(data)}


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value
