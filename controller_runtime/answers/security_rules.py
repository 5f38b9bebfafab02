"""What the configuration says of ACLs and delegation tokens, alike on brokers and controllers."""

from __future__ import annotations

from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class SecurityRules:
    keeps_acls: bool = False
    """They are created, described and deleted, for Apache Kafka's brokers; nobody is held to them here."""
    authorizer: AuthorizerRules | None = None
    """Everybody is held to the ACLs (`authorizer.class.name`)."""
    token_secret: bytes | None = field(default=None, repr=False)
    """Of the whole cluster; without one there are no delegation tokens."""
    token_max_lifetime_ms: int = 7 * 24 * 3_600_000
    token_expiry_ms: int = 24 * 3_600_000
    """A token that nobody renews lives so long, and each renewal lets it live so long at most."""
    token_check_interval_s: float = 3600.0
    """How often those whose time is over are removed."""

    @property
    def serves_acls(self) -> bool:
        """They can be changed here."""
        return self.keeps_acls or self.authorizer is not None
