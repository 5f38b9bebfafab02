"""`spec.security`, and how the listeners of a secure cluster tell who connects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

VALIDITY_SECONDS: Final = 90 * 86400.0
WAIT_FOR_CLIENTS_SECONDS: Final = 7 * 86400.0


class TlsMode(StrEnum):
    DISABLED = "Disabled"
    REQUIRED = "Required"


class Authentication(StrEnum):
    """Of those who connect to a broker's listener."""

    NONE = "None"
    TLS = "Tls"
    """By a certificate of the cluster's own authority: its nodes and its operator."""
    SCRAM = "Scram"
    """By name and password, SCRAM-SHA-512."""


@dataclass(frozen=True, slots=True)
class Security:
    mode: TlsMode = TlsMode.DISABLED
    validity_seconds: float = VALIDITY_SECONDS
    """Of the certificates of nodes and operator."""
    wait_for_clients_seconds: float = WAIT_FOR_CLIENTS_SECONDS
    """How long clients have to read their Secret again before another authority signs, and before the old one is
    forgotten.
    """
    super_users: tuple[str, ...] = ()
    """Principals who may everything, besides the nodes and the operator."""

    @property
    def required(self) -> bool:
        return self.mode is TlsMode.REQUIRED
