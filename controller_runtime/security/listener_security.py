"""The security of one listener, or of one client: one value, from configuration to the socket."""

from __future__ import annotations

from typing import Final

from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.sasl_settings import ClientLogin, SaslSettings
from controller_runtime.security.tls_settings import TlsSettings
from controller_runtime.values import dataclass


class SecurityError(Exception):
    """What secures a connection cannot be set up; names the setting, never a secret."""


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: TlsSettings | None = None
    """Where the protocol is TLS."""
    sasl: SaslSettings | None = None
    """Where others say who they are."""
    login: ClientLogin | None = None
    """Where we do."""


PLAINTEXT: Final = ListenerSecurity()
