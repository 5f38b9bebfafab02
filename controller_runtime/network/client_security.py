"""How outgoing connections are secured. A plaintext one loads nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from controller_runtime.security.listener_security import ListenerSecurity

if TYPE_CHECKING:
    from controller_runtime.network.own_tokens import OwnTokens
    from controller_runtime.network.tls_stores import TlsStores


class ClientSecurity:
    """Connections of the same one may be shared: it is compared by identity."""

    def __init__(self, security: ListenerSecurity, stores: TlsStores | None = None) -> None:
        """`stores`: those of a listener, if it is a node's own that they secure. Raises SecurityError."""
        self.security = security
        self.stores = stores
        self.tokens: OwnTokens | None = None
        """Those that its connections show, by OAUTHBEARER."""
        if security.tls is not None and stores is None:
            from controller_runtime.network.tls_stores import TlsStores

            self.stores = TlsStores("the client", security.tls)
        if security.login is not None and security.login.tokens is not None:
            from controller_runtime.network.own_tokens import OwnTokens

            self.tokens = OwnTokens(security.login.tokens)

    def connecting_to(self, host: str) -> dict[str, Any]:
        """What `create_connection` is given more; the certificate must be for `host`, as it was dialled. Raises
        OSError.
        """
        if self.stores is None:
            return {}
        from controller_runtime.network.tls import HANDSHAKE_SECONDS, SHUTDOWN_SECONDS, check_name

        context = self.stores.client
        check_name(context, host)
        return {
            "ssl": context,
            "server_hostname": host,
            "ssl_handshake_timeout": HANDSHAKE_SECONDS,
            "ssl_shutdown_timeout": SHUTDOWN_SECONDS,
        }

    def fault(self, error: OSError) -> OSError:
        """What is said of a connection that could not be made."""
        if self.stores is None:
            return error
        from controller_runtime.network.tls import handshake_fault

        return OSError(handshake_fault(error))


IN_THE_CLEAR: Final = ClientSecurity(ListenerSecurity())
