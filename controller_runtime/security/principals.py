"""Who somebody is, once it is proven: `User:ann`."""

from __future__ import annotations

from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """What an authentication shows."""

    principal: str
    """`User:ann`."""
    token_authenticated: bool = False
    """By a delegation token: its owner is meant, who did not come himself."""
    expires_at_ms: int | None = None
    """On the wall clock: when what was shown ends, if it does."""
