"""The certificates of a process: one set of stores a listener, looked at every few seconds.

What the metadata log says of the stores of this node's listeners wins over its file, as in Kafka; whatever it says that
cannot be used is logged, and the old stores go on serving.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.names import LISTENER_PREFIX
from controller_runtime.configuration.providers import BadProviders
from controller_runtime.configuration.security import read_security, with_stores
from controller_runtime.metadata.configs import BROKER
from controller_runtime.network.client_security import IN_THE_CLEAR, ClientSecurity
from controller_runtime.network.listener import SocketServer
from controller_runtime.server.telemetry.facts import SecurityFacts

if TYPE_CHECKING:
    from controller_runtime.metadata.image import MetadataImage
    from controller_runtime.network.tls_stores import TlsStores
    from controller_runtime.security.tls_settings import TlsSettings

log = logging.getLogger(__name__)


class _Unusable(Exception):
    """What is said of stores makes no sense."""


class Certificates:
    def __init__(self, config: ServerConfig) -> None:
        """Raises SecurityError."""
        self._stores: dict[str, TlsStores] = {}
        for name, security in config.listener_security.items():
            if security.tls is not None:
                from controller_runtime.network.tls_stores import TlsStores

                proves = config.is_broker and name == config.inter_broker_listener
                self._stores[name] = TlsStores(f"listener {name}", security.tls, proves_itself=proves)
        self.to_controllers = self._of_calls(config, config.controller_listener_names[0])
        self.to_brokers = self._of_calls(config, config.inter_broker_listener) if config.is_broker else IN_THE_CLEAR
        self._config = config
        self._dynamic: Mapping[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def _of_calls(self, config: ServerConfig, listener: str) -> ClientSecurity:
        """Of calls to a listener of other nodes: with the certificate that this node has for its own of that name."""
        return ClientSecurity(config.listener_security[listener], self._stores.get(listener))

    def secure(self, listener: SocketServer) -> None:
        if listener.name in self._stores:
            from controller_runtime.network.secure_listener import secure

            secure(listener, self._stores[listener.name])

    def watch(self, image: Callable[[], MetadataImage | None]) -> None:
        """Now, and every few seconds until `close`."""
        if self._stores:
            from controller_runtime.network.tls_stores import LOOK_SECONDS

            known = image()
            if known is not None:
                self._take(known.configs.of(BROKER, str(self._config.node_id)))
            for stores in self._stores.values():
                stores.look()
                stores.warn_of_the_end(time.time())
            self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self.watch, image)

    def _take(self, dynamic: Mapping[str, str]) -> None:
        if dynamic is self._dynamic:
            return
        self._dynamic = dynamic
        for name, stores in self._stores.items():
            try:
                wanted = self._wanted(name, dynamic)
            except _Unusable as error:
                log.error("listener %s keeps the certificates that it has: %s", name, error)
                continue
            if wanted is not None and wanted != stores.settings:
                stores.change(wanted)

    def fault_of(self, dynamic: Mapping[str, str]) -> str | None:
        """Why a listener could not use its stores if this node had these dynamic values; of those that they change."""
        for name, stores in self._stores.items():
            if _of_listener(name, dynamic) == _of_listener(name, self._dynamic):
                continue
            try:
                wanted = self._wanted(name, dynamic)
            except _Unusable as error:
                return str(error)
            if wanted is not None and (why := stores.fault_of(wanted)) is not None:
                return why
        return None

    def _wanted(self, name: str, dynamic: Mapping[str, str]) -> TlsSettings | None:
        """Raises _Unusable."""
        wrong: list[str] = []

        def problem(which: str, why: str) -> None:
            wrong.append(f"{which}: {why}")

        try:
            settings = with_stores(self._config.settings, dynamic, self._config.providers)
        except BadProviders as error:
            raise _Unusable(str(error)) from error
        serves = any(one.name == name for one in self._config.listeners)
        protocol = self._config.listener_security[name].protocol
        found = read_security(settings, name, protocol, problem, serves=serves)
        if wrong:
            raise _Unusable("; ".join(wrong))
        return found.tls

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def facts(self, listeners: Mapping[str, SocketServer]) -> dict[str, SecurityFacts]:
        """Of every listener whose stores this process has; a broker does not listen on the controllers'."""
        found = {}
        for name, stores in self._stores.items():
            listener = listeners.get(name)
            found[name] = SecurityFacts(
                successful=0 if listener is None else listener.secured_connections,
                failed=0 if listener is None else listener.failed_handshakes,
                not_after=stores.not_after,
                reloads=stores.reloads,
                failed_reloads=stores.failed_reloads,
            )
        return found


def _of_listener(name: str, dynamic: Mapping[str, str]) -> Mapping[str, str]:
    prefix = f"{LISTENER_PREFIX}{name.lower()}."
    return {one: value for one, value in dynamic.items() if one.startswith(prefix)}
