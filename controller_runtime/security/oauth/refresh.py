"""When a token is replaced before it ends (KIP-255): at a part of its lifetime, with a buffer before its end, not at
once after it came. Pure.
"""

from __future__ import annotations

from controller_runtime.identifiers import WallClock
from controller_runtime.security.oauth.settings import Refresh
from controller_runtime.security.oauth.tokens import BearerToken


def refresh_at(told: Refresh, token: BearerToken, now: WallClock, dice: float) -> int:
    """On the wall clock, in milliseconds; `dice` is uniform in [0, 1)."""
    begins = now if token.issued_at_ms is None else token.issued_at_ms
    part = told.window_factor + told.window_jitter * dice
    buffer, period = told.buffer_seconds * 1000, told.min_period_seconds * 1000
    left = token.expires_at_ms - now
    if buffer + period > left:
        return now + int(left * part)
    latest = token.expires_at_ms - buffer
    return max(min(begins + int((token.expires_at_ms - begins) * part), latest), now + period)
