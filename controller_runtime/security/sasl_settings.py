"""What one listener's authentication is configured with: values, read by `configuration`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from controller_runtime.values import dataclass, field

if TYPE_CHECKING:
    from controller_runtime.security.oauth.settings import ClientTokens, ServerTokens

MAX_RECEIVE_BYTES: Final = 524288
"""Of a frame of somebody who has not shown who he is (`sasl.server.max.receive.size`)."""
FAILURE_DELAY_SECONDS: Final = 0.1
"""Who fails learns it so much later (`connection.failed.authentication.delay.ms`)."""
DEADLINE_SECONDS: Final = 10.0
"""Who has not shown who he is so long after he connected is given up; Kafka waits until he is idle."""


@dataclass(frozen=True, slots=True)
class SaslSettings:
    mechanisms: tuple[str, ...]
    """Those that are enabled, as `sasl.enabled.mechanisms` has them."""
    plain_users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords by name."""
    tokens: ServerTokens | None = None
    """How tokens are judged, if OAUTHBEARER is enabled."""
    max_reauth_ms: Mapping[str, int] = field(default_factory=dict)
    """By mechanism, if sessions end (`connections.max.reauth.ms`)."""
    max_receive_bytes: int = MAX_RECEIVE_BYTES
    failure_delay_seconds: float = FAILURE_DELAY_SECONDS
    deadline_seconds: float = DEADLINE_SECONDS


@dataclass(frozen=True, slots=True)
class ClientLogin:
    """How a client of ours shows who it is."""

    mechanism: str
    user: str = ""
    password: str = field(default="", repr=False)
    by_token: bool = False
    """`user` is the id of a delegation token, `password` its HMAC."""
    tokens: ClientTokens | None = None
    """Of OAUTHBEARER."""
