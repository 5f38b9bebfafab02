"""The bounds on connections of a process's listeners: those of its broker, and those of its controller (each role
counts its own, as Apache Kafka's two socket servers do).

A name in `max.connections.per.ip.overrides` is looked up when the bounds change, beside everything else; one that is
not known has the bound of any address.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from controller_runtime.network.binding import packed_address
from controller_runtime.network.connection_quotas import NO_LIMIT, ConnectionLimits, ConnectionQuotas
from controller_runtime.network.resolve import Resolver, system_resolver
from controller_runtime.parts.effects import LimitConnections
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.server.shell.connection_pace import ConnectionPace, CreationRates

log = logging.getLogger(__name__)


class ConnectionGate:
    def __init__(
        self,
        listeners: Mapping[str, ListenerType],
        inter_broker: str,
        samples: tuple[int, int],
        resolver: Resolver = system_resolver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`listeners`: which role each serves; `samples`: of a rate, how many and of how many milliseconds."""
        self._roles = listeners
        self._paces = {role: ConnectionPace(samples, clock) for role in set(listeners.values())}
        self._quotas = {role: ConnectionQuotas(protected=inter_broker, pace=it) for role, it in self._paces.items()}
        self._resolver = resolver
        self._resolving: asyncio.Task[None] | None = None

    def of(self, listener: str) -> ConnectionQuotas:
        return self._quotas[self._roles[listener]]

    def limit(self, wanted: LimitConnections) -> None:
        """From now on; bounds of names as soon as their addresses are known."""
        for pace in self._paces.values():
            pace.rates = self._rates(wanted)
        numeric = {host: address for host, _ in wanted.of_host if (address := _address(host)) is not None}
        self._apply(wanted, numeric)
        if self._resolving is not None:
            self._resolving.cancel()
            self._resolving = None
        if names := [host for host, _ in wanted.of_host if host not in numeric]:
            self._resolving = asyncio.get_running_loop().create_task(self._resolve(wanted, numeric, names))

    def close(self) -> None:
        if self._resolving is not None:
            self._resolving.cancel()

    def _rates(self, wanted: LimitConnections) -> CreationRates:
        own, of_address = dict(wanted.created_of_listener), dict(wanted.created_of_address)
        known = {_address(text): rate for text, rate in of_address.items() if text is not None}
        return CreationRates(
            of_all=wanted.created_of_all,
            of_listener={name: own[name.lower()] for name in self._roles if name.lower() in own},
            per_address=of_address.get(None, NO_LIMIT),
            of_address={address: rate for address, rate in known.items() if address is not None},
        )

    def _apply(self, wanted: LimitConnections, addresses: Mapping[str, bytes]) -> None:
        own = dict(wanted.of_listener)
        limits = ConnectionLimits(
            of_all=wanted.of_all,
            of_listener={name: own[name.lower()] for name in self._roles if name.lower() in own},
            per_address=wanted.per_address,
            of_address={addresses[host]: limit for host, limit in wanted.of_host if host in addresses},
        )
        for quotas in self._quotas.values():
            quotas.limit(limits)

    async def _resolve(self, wanted: LimitConnections, numeric: Mapping[str, bytes], names: list[str]) -> None:
        known = dict(numeric)
        for name in names:
            try:
                found = await self._resolver(name, 0)
            except OSError as error:
                log.warning("max.connections.per.ip.overrides: correct %s, it has no address: %s", name, error)
                continue
            known[name] = packed_address(found[0][0])
        self._apply(wanted, known)


def _address(host: str) -> bytes | None:
    try:
        return packed_address(host)
    except OSError:
        return None
