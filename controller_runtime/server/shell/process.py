"""One process: its disks, its listeners, its node, and the way in and out.

In: lock and recover the disks, bind the Kafka ports, build the node, start it, then the HTTP port. Out: SIGTERM or
SIGINT ask the node to shut down under control, a second one or an upper bound on waiting ends it at once; a fault ends
it with exit code 1 and writes nothing any more. A port 0 is replaced by the bound one before anybody hears of it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from controller_runtime.answers.connection_limits import connection_limits
from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.settings import RULES
from controller_runtime.identifiers import Endpoint, Instant, WallClock
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.configs import ConfigsImage
from controller_runtime.metadata.replay import ReplayError
from controller_runtime.network.client_pool import ClientOptions, ClientPool
from controller_runtime.network.connection import FrameHandler
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.node.events import NodeEvent
from controller_runtime.parts.effects import LimitConnections, Stop
from controller_runtime.parts.events import ShutdownRequested
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.security.listener_security import SecurityError
from controller_runtime.server.shell.assembly import Disk, jitter, open_disk, quota_samples
from controller_runtime.server.shell.certificates import Certificates
from controller_runtime.server.shell.connection_gate import ConnectionGate
from controller_runtime.server.shell.driver import Clock, DataPlane, Driver
from controller_runtime.server.shell.freed_memory import FreedMemory
from controller_runtime.server.shell.requests import Requests
from controller_runtime.storage.errors import StorageError
from controller_runtime.values import replace

if TYPE_CHECKING:
    from controller_runtime.metadata.image import MetadataImage
    from controller_runtime.server.shell.running import RunningNode
    from controller_runtime.server.shell.token_judges import TokenJudges
    from controller_runtime.server.telemetry.facts import NodeFacts
    from controller_runtime.server.telemetry.http import HttpPort

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 25.0
"""How long a controlled shutdown may take; below the 30 seconds that Kubernetes waits before it kills."""
_SWITCH_INTERVAL_SECONDS: Final = 0.0005
"""How long the loop may keep the interpreter when a disk thread has finished a sync: Python's default is ten times a
sync.
"""
LATE_SECONDS: Final = 0.005
"""How often it is looked whether listeners that wait for the metadata may open: a broker asks to be unfenced ten
milliseconds after it has caught up, and then clients are sent to it.
"""
_GC_THRESHOLDS: Final = (10_000, 20, 20)
"""Messages and events are freed by their counts; cycles are rare, so looking for them after every 700 allocations is a
waste.
"""


def run(config: ServerConfig) -> int:
    """Run a node until it stops; the exit code."""
    allow_short_turns()
    _allow_many_files()
    for notice in config.notices:
        log.warning("%s", notice)
    try:
        disk = open_disk(config)
    except (StorageError, OSError) as error:
        log.critical("cannot start: %s", error)
        return 1
    for why in disk.directories.offline.values():
        log.error("replace the disk of a log directory, offline: %s", why)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_Process(config, disk).run())


def allow_short_turns() -> None:
    """Threads of this process hand the interpreter over after half a millisecond."""
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)


def _allow_many_files() -> None:
    """As many open files as the system allows, as a JVM does: the usual soft limit of 1024 is fewer than a broker's
    connections.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def loop_factory() -> type[asyncio.AbstractEventLoop]:
    """uvloop where it is installed."""
    try:
        from uvloop import Loop
    except ImportError:
        return asyncio.SelectorEventLoop
    found: type[asyncio.AbstractEventLoop] = Loop
    return found


class _Process:
    def __init__(self, config: ServerConfig, disk: Disk) -> None:
        self._config = config
        self._disk = disk
        self._listeners: list[SocketServer] = []
        self._late: list[SocketServer] = []
        """Listeners that accept nobody yet: a broker's before it has caught up with the metadata, a controller's before
        it is known who may do what (`early.start.listeners`).
        """
        self._opening: asyncio.Task[None] | None = None
        self._http: HttpPort | None = None
        self._judges: TokenJudges | None = None
        self._known_image: Callable[[], MetadataImage | None] = lambda: None
        self._unusable_stores: Callable[[Mapping[str, str]], str | None] = lambda _: None
        self._stopping = False
        self._started_at_ms = time.time_ns() // 1_000_000

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        roles = {
            listener.name: ListenerType.CONTROLLER
            if listener.name in self._config.controller_listener_names
            else ListenerType.BROKER
            for listener in self._config.listeners
        }
        pending: list[NodeEvent] = []
        requests = Requests(roles, pending.append)
        samples = quota_samples(self._config.settings)
        gate = ConnectionGate(roles, self._config.inter_broker_listener, samples)
        gate.limit(self._connection_limits())
        try:
            certificates = Certificates(self._config)
            self._unusable_stores = certificates.fault_of
            advertised = await self._bind(requests, certificates, gate)
        except (OSError, SecurityError) as error:
            log.critical("cannot start: %s", (error.strerror if isinstance(error, OSError) else None) or error)
            self._close_listeners()
            self._disk.close()
            return 1
        pool = ClientPool(self._client_options(), jitter, security=certificates.to_controllers)
        try:
            node = self._build(advertised, Instant(loop.time()), requests)
        except (StorageError, ProtocolError, ReplayError) as error:
            log.critical("cannot start: %s", error)
            self._close_listeners()
            return 1
        driver = Driver(
            node.node,
            self._disk.metadata_log,
            save_election=self._disk.save_election,
            pool=pool,
            responder=requests,
            clock=Clock(loop.time, lambda: time.time_ns() // 1_000_000),
            data_plane=node.data_plane,
            limit_connections=gate.limit,
            to_brokers=certificates.to_brokers,
        )
        node.attach(driver.feed)
        self._known_image = node.known_image
        if node.data_plane is not None:
            self._share_room(node.data_plane)
        requests.attach(driver.feed)
        driver.start()
        for event in pending:
            driver.feed(event)
        self._on_signals(driver)
        self._open_late()
        await self._open_http(node, pool, certificates, requests)
        certificates.watch(self._image_now)
        gc.collect()
        gc.freeze()  # what a start has made stays: no later collection looks at it
        gc.set_threshold(*_GC_THRESHOLDS)
        stop = await driver.stopped
        certificates.close()
        gate.close()
        return await self._stop(stop, driver, pool, node)

    async def _bind(
        self, requests: Requests, certificates: Certificates, gate: ConnectionGate
    ) -> Mapping[str, Endpoint]:
        limits = self._limits()
        advertised = dict(self._config.advertised)
        freed = FreedMemory()
        for one in self._config.listeners:
            handler = await self._handler(one.name, requests)
            listener = SocketServer(one.name, handler, limits, gate.of(one.name))
            listener.on_large = freed.expect
            certificates.secure(listener)
            waits = self._waits(one.name)
            port = await listener.open(one.host, one.port, accepts=not waits)
            self._listeners.append(listener)
            if waits:
                self._late.append(listener)
            if advertised[one.name].port == 0:
                advertised[one.name] = replace(advertised[one.name], port=port)
            said = "bound, and opened when the metadata is known:" if waits else "listening on"
            log.info("%s %s, advertised as %s", said, replace(one, port=port), advertised[one.name])
        return advertised

    def _waits(self, listener: str) -> bool:
        """As in Apache Kafka no client meets a broker that does not know what the cluster knows of it; whether a
        controller's listener waits for the ACLs is said in the file.
        """
        if listener not in self._config.controller_listener_names:
            return True
        return self._config.security.authorizer is not None and listener not in self._config.early_listeners

    def _open_late(self) -> None:
        """When the log is known as far as it is committed, and with it this broker and every ACL."""
        loop = asyncio.get_running_loop()
        if self._stopping:
            return
        if not self._late:
            node_id, cluster_id = self._config.node_id, self._disk.directories.cluster_id
            log.info("Kafka Server started: node %d, cluster %s", node_id, cluster_id)
            return
        if self._known_image() is None:
            loop.call_later(LATE_SECONDS, self._open_late)
            return
        listener = self._late.pop(0)
        log.info("accepting connections on %s: the metadata is known", listener.name)
        self._opening = loop.create_task(listener.start_accepting())
        self._opening.add_done_callback(lambda _: self._open_late())

    async def _handler(self, listener: str, requests: Requests) -> FrameHandler:
        """Who takes the frames of a listener: where clients say who they are, a door is before those who serve."""
        settings = self._config.listener_security[listener].sasl
        if settings is None:
            return requests
        from controller_runtime.answers.logins import Logins
        from controller_runtime.server.shell.authentication import Authentication

        secret = self._config.security.token_secret
        logins = Logins(self._image_now, _wall, secret, os.urandom(32))
        judge = None
        if settings.tokens is not None:
            from controller_runtime.server.shell.token_judges import TokenJudges

            self._judges = self._judges or TokenJudges(_wall)
            judge = await self._judges.of(settings.tokens)
        return Authentication(requests, settings, logins, _wall, judge)

    def _image_now(self) -> MetadataImage | None:
        return self._known_image()

    def _share_room(self, data_plane: DataPlane) -> None:
        """What consumers have not taken yet bounds what is read for them."""
        data_plane.attach_room(lambda: all(listener.has_room for listener in self._listeners))
        for listener in self._listeners:
            listener.on_room = data_plane.room_made

    def _build(self, advertised: Mapping[str, Endpoint], now: Instant, requests: Requests) -> RunningNode:
        from controller_runtime.server.shell import running

        return running.build(
            self._config,
            self._disk,
            advertised,
            now=now,
            requests=requests,
            started_at_ms=self._started_at_ms,
            unusable_stores=self._unusable_stores,
        )

    def _limits(self) -> ListenerLimits:
        settings = self._config.settings
        return ListenerLimits(
            max_frame_bytes=settings.integer("socket.request.max.bytes"),
            max_idle_seconds=_or_forever(settings.integer("connections.max.idle.ms")),
            backlog=settings.integer("socket.listen.backlog.size"),
            receive_buffer_bytes=_stated(self._config, "socket.receive.buffer.bytes"),
            send_buffer_bytes=_stated(self._config, "socket.send.buffer.bytes"),
            max_collected_bytes=self._max_collected_bytes(),
        )

    def _connection_limits(self) -> LimitConnections:
        """As the file says; a node's dynamic configurations may say something else."""
        own = OwnConfigs(self._config.node_id, self._config.settings.values(), RULES)
        return connection_limits(ConfigsImage(), {}, own)

    def _max_collected_bytes(self) -> int:
        """A bound of ours where the file sets none (Kafka: -1, none at all); never less than one request may have."""
        settings = self._config.settings
        stated, largest = settings.integer("queued.max.request.bytes"), settings.integer("socket.request.max.bytes")
        return max(stated, largest) if stated > 0 else max(ListenerLimits().max_collected_bytes, 2 * largest)

    def _client_options(self) -> ClientOptions:
        settings = self._config.settings
        return ClientOptions(
            client_id=f"raft-client-{self._config.node_id}",
            setup_timeout_seconds=settings.integer("socket.connection.setup.timeout.ms") / 1000,
        )

    async def _open_http(
        self, node: RunningNode, pool: ClientPool, certificates: Certificates, requests: Requests
    ) -> None:
        if self._config.http_listener is None:
            return
        from controller_runtime.server.telemetry.health import routes
        from controller_runtime.server.telemetry.http import HttpPort

        async def facts() -> NodeFacts:
            found = await node.facts(self._connections(), pool.take_counts())
            secured = certificates.facts({one.name: one for one in self._listeners})
            return replace(found, secured=secured, counters=requests.authentications.counters())

        self._http = HttpPort(routes(node.readiness, facts))
        host, port = self._config.http_listener
        try:
            bound = await self._http.open(host, port)
        except OSError as error:
            log.error("choose another quorate.http.listener, probes fail until then: %s", error)
            return
        log.info("probes and metrics on http://%s:%d", host or "*", bound)

    def _connections(self) -> dict[str, int]:
        return {listener.name: len(listener.connections) for listener in self._listeners}

    def _on_signals(self, driver: Driver) -> None:
        loop = asyncio.get_running_loop()

        def requested() -> None:
            if self._stopping:
                log.warning("stopping at once: a second signal came")
                _stop_now(driver, "a second signal came")
                return
            self._stopping = True
            log.info("controlled shutdown begins")
            loop.call_later(
                SHUTDOWN_SECONDS, _stop_now, driver, f"no controlled shutdown within {SHUTDOWN_SECONDS:g} s"
            )
            driver.feed(ShutdownRequested())

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, requested)

    async def _stop(self, stop: Stop, driver: Driver, pool: ClientPool, node: RunningNode) -> int:
        if stop.fault:
            log.critical("stopped by a fault: %s", stop.reason)
            return 1
        self._close_listeners()
        if self._http is not None:
            self._http.close()
        if self._judges is not None:
            self._judges.close()
        await pool.close()
        driver.close()
        await asyncio.sleep(0)
        driver.finish_writes()
        node.close()
        self._disk.close()
        log.info("stopped: %s", stop.reason)
        return 0

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()


def _wall() -> WallClock:
    return WallClock(time.time_ns() // 1_000_000)


def _stop_now(driver: Driver, reason: str) -> None:
    driver.end(Stop(reason))


def _or_forever(milliseconds: int) -> float:
    """Kafka's -1: never."""
    return milliseconds / 1000 if milliseconds >= 0 else 1e9


def _stated(config: ServerConfig, name: str) -> int | None:
    """A socket buffer's size only when the file sets it: otherwise the kernel tunes it better. -1 is the kernel's
    choice too.
    """
    value = config.settings.integer(name)
    return value if config.settings.has(name) and value > 0 else None
