"""How a listener is spoken to: in the clear or over TLS, with or without SASL."""

from __future__ import annotations

from enum import Enum
from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"
"""Who has not said who he is."""


class SecurityProtocol(Enum):
    """Kafka's names, and the numbers under which registrations carry them."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def is_tls(self) -> bool:
        return self in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL}

    @property
    def is_sasl(self) -> bool:
        return self in {SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL}
