"""Finding a node that can answer, and asking it until it does or time is up.

The client starts from bootstrap addresses of one kind, brokers or controllers, learns the nodes from the first that
answers, and asks the active controller where only it can answer (brokers forward by themselves). What may pass by
itself (no connection, no leader yet) is tried again with a pause; everything else is raised. No wait is longer than the
caller's deadline.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Final, TypeVar

from controller_runtime.admin.results import ClusterDescription, NodeDescription
from controller_runtime.identifiers import Endpoint, NodeId
from controller_runtime.network.client_connection import CallError, Failure
from controller_runtime.network.client_pool import ClientOptions, ClientPool
from controller_runtime.network.client_security import ClientSecurity
from controller_runtime.network.resolve import Resolver, system_resolver
from controller_runtime.protocol.api_errors import ApiError, UnsupportedVersion, error_for
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import DescribeClusterResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity

M = TypeVar("M", bound=Message)

CHANNEL: Final = "admin"
RETRY_PAUSE_SECONDS: Final = 0.1
ATTEMPT_SECONDS: Final = 10.0
"""How long one node may take, when others could be asked instead."""

_WRONG_KIND: Final = frozenset({ErrorCode.MISMATCHED_ENDPOINT_TYPE, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE})
_MOVED: Final = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER})


class EndpointKind(Enum):
    """The number is DescribeCluster's EndpointType."""

    BROKER = 1
    CONTROLLER = 2


class AdminError(Exception):
    """The request could not be put to any node that answers it."""


class Unreachable(AdminError):
    """No node answered in time. `causes` says why, one line per address; whether a request was carried out
    is unknown.
    """

    def __init__(self, what: str, causes: Iterable[str]) -> None:
        self.causes = tuple(causes)
        super().__init__(f"{what}: {'; '.join(self.causes) or 'no address to ask'}")


class NoLeader(Unreachable):
    """Controllers answered, and none of them knew who leads."""


class NotSupported(AdminError):
    """The node that was reached does not serve this API in a version that can carry the request."""


def parse_bootstrap(addresses: str | Iterable[str | Endpoint]) -> tuple[Endpoint, ...]:
    """`host:port,host:port`, or a list of such. Raises ValueError that names the bad one."""
    parts = addresses.split(",") if isinstance(addresses, str) else addresses
    return tuple(part if isinstance(part, Endpoint) else _parse_address(part.strip()) for part in parts if part)


def _parse_address(text: str) -> Endpoint:
    host, separator, port = text.rpartition(":")
    if not separator or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"Invalid url in bootstrap.servers: {text}")
    return Endpoint(host.strip("[]"), int(port))


class Deadline:
    """A moment on the loop's clock, and what is left until then."""

    __slots__ = ("_loop", "at")

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self.at = self._loop.time() + seconds

    @property
    def left(self) -> float:
        return self.at - self._loop.time()

    async def pause(self) -> bool:
        """Wait a little before another try; false when the time is up."""
        if self.left <= RETRY_PAUSE_SECONDS:
            return False
        await asyncio.sleep(RETRY_PAUSE_SECONDS)
        return True


class Connections:
    """The nodes of one cluster, as far as they are known."""

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        kind: EndpointKind,
        client_id: str,
        resolver: Resolver = system_resolver,
        security: ListenerSecurity = PLAINTEXT,
    ) -> None:
        """Raises SecurityError."""
        if not bootstrap:
            raise ValueError("No resolvable bootstrap urls given in bootstrap.servers")
        self.kind = kind
        self.bootstrap = tuple(bootstrap)
        self.pool = ClientPool(ClientOptions(client_id), random.random, resolver, security=ClientSecurity(security))
        self._nodes: dict[NodeId, Endpoint] = {}
        self._controller: NodeId | None = None
        self._checked = False
        self._answered: tuple[Endpoint, ...] = ()
        """The node that answered last is asked first."""

    async def close(self) -> None:
        await self.pool.close()

    async def ask_at(self, endpoint: Endpoint, request: Message, answer: type[M], seconds: float) -> M:
        """Ask exactly this node, once. Raises Unreachable or NotSupported, or ApiError for a login."""
        try:
            _, body = await self.pool.call(CHANNEL, endpoint, request, seconds)
        except CallError as error:
            raise _as_admin_error(error, endpoint) from error
        assert isinstance(body, answer), f"{endpoint} answered {type(body).__name__}"
        return body

    async def ask_any(
        self, request: Message, answer: type[M], deadline: Deadline, *, attempt_seconds: float = ATTEMPT_SECONDS
    ) -> M:
        """Ask the nodes in turn until one answers."""
        await self._check_kind(deadline)
        return await self._ask_in_turn(request, answer, deadline, attempt_seconds)

    async def ask_node(self, node: NodeId, request: Message, answer: type[M], deadline: Deadline) -> M:
        """Ask exactly this node of the cluster; one that cannot be reached is asked again until time is up."""
        while True:
            if node not in self._nodes:
                await self.describe_cluster(deadline)
            endpoint = self._nodes.get(node)
            try:
                if endpoint is None:
                    raise Unreachable(type(request).__name__, [f"node {node} is not there"])
                return await self.ask_at(endpoint, request, answer, min(deadline.left, ATTEMPT_SECONDS))
            except Unreachable:
                self._nodes = {}
                if not await deadline.pause():
                    raise

    async def _check_kind(self, deadline: Deadline) -> None:
        """Before the first request: are these nodes of the kind that was asked for? Raises what Kafka's client does."""
        if self._checked:
            return
        if self.kind is EndpointKind.BROKER:
            try:
                await self._ask_in_turn(MetadataRequest(topics=()), MetadataResponse, deadline, self._share(deadline))
            except NotSupported as error:
                raise UnsupportedVersion("The node does not support METADATA") from error
        else:
            request = DescribeClusterRequest(endpoint_type=self.kind.value)
            found = await self._ask_in_turn(
                request, DescribeClusterResponse, deadline, self._share(deadline), _cannot_tell
            )
            if found.error_code in _WRONG_KIND:
                raise_if(found.error_code, found.error_message)
        self._checked = True

    async def _ask_in_turn(
        self,
        request: Message,
        answer: type[M],
        deadline: Deadline,
        attempt_seconds: float = ATTEMPT_SECONDS,
        is_refusal: Callable[[M], bool] = lambda _: False,
    ) -> M:
        """A refusal counts only when nobody answers better: all that were asked refuse, or time is up."""
        causes: dict[Endpoint, str] = {}
        refused: M | None = None
        while True:
            reached_all = True
            for endpoint in self._candidates():
                try:
                    found = await self.ask_at(endpoint, request, answer, min(deadline.left, attempt_seconds))
                except Unreachable as error:
                    causes[endpoint], reached_all = error.causes[0], False
                else:
                    if not is_refusal(found):
                        self._answered = (endpoint,)
                        return found
                    refused = found
                if deadline.left <= 0:
                    break
            if refused is not None and reached_all:
                return refused
            self._nodes, self._answered = {}, ()
            if not await deadline.pause():
                if refused is not None:
                    return refused
                raise Unreachable(f"{type(request).__name__}: Timed out waiting for a node assignment", causes.values())

    async def ask_controller(
        self,
        request: Message,
        answer: type[M],
        code_of: Callable[[M], int],
        deadline: Deadline,
        *,
        attempt_seconds: float = ATTEMPT_SECONDS,
    ) -> M:
        """Ask the active controller (through any broker, which forwards); follow it when it moves."""
        leaderless: tuple[str, ...] = ()
        while True:
            try:
                found = await self._ask_where_it_is_decided(request, answer, deadline, attempt_seconds)
            except Unreachable as error:
                self._controller = None
                leaderless = error.causes if isinstance(error, NoLeader) else leaderless
                if not await deadline.pause():
                    if not leaderless or error.causes == leaderless:
                        raise
                    # The last attempt had the rest of the time only: its silence says less than what was answered.
                    raise Unreachable(type(request).__name__, dict.fromkeys((*leaderless, *error.causes))) from error
                continue
            code = code_of(found)
            if code not in _MOVED:
                return found
            self._controller = None
            if not await deadline.pause():
                refused = error_for(code)
                assert refused is not None
                raise refused

    async def _ask_where_it_is_decided(
        self, request: Message, answer: type[M], deadline: Deadline, attempt_seconds: float
    ) -> M:
        if self.kind is EndpointKind.BROKER:
            return await self.ask_any(request, answer, deadline, attempt_seconds=attempt_seconds)
        if self._controller is None:
            await self.describe_cluster(deadline)
        target = self._nodes.get(self._controller) if self._controller is not None else None
        if target is None:
            raise NoLeader(type(request).__name__, ["the controllers know no leader"])
        return await self.ask_at(target, request, answer, min(deadline.left, attempt_seconds))

    async def describe_cluster(self, deadline: Deadline, *, include_fenced: bool = False) -> ClusterDescription:
        """Ask for the nodes of this client's kind. A node of the other kind refuses with a MISMATCHED_ENDPOINT_TYPE
        error.
        """
        request = DescribeClusterRequest(endpoint_type=self.kind.value, include_fenced_brokers=include_fenced)
        await self._check_kind(deadline)
        share = self._share(deadline)
        found = await self._ask_in_turn(request, DescribeClusterResponse, deadline, share, _cannot_tell)
        raise_if(found.error_code, found.error_message)
        nodes = tuple(
            NodeDescription(NodeId(one.broker_id), Endpoint(one.host, one.port), one.rack, one.is_fenced)
            for one in found.brokers
        )
        self._nodes = {one.node_id: one.endpoint for one in nodes if not one.is_fenced}
        self._controller = NodeId(found.controller_id) if found.controller_id in self._nodes else None
        return ClusterDescription(found.cluster_id, NodeId(found.controller_id), nodes)

    def _share(self, deadline: Deadline) -> float:
        """For a question that any node answers at once: one that is silent (it hangs, or starts slowly) leaves the
        others their time.
        """
        return min(ATTEMPT_SECONDS, deadline.left / len(self._candidates()))

    def _candidates(self) -> tuple[Endpoint, ...]:
        return tuple(dict.fromkeys((*self._answered, *self._nodes.values(), *self.bootstrap)))


def _cannot_tell(answer: DescribeClusterResponse) -> bool:
    """Kafka's controller says so below metadata.version 3.7, but also while it has just started and has not read the
    log.
    """
    return answer.error_code == ErrorCode.UNSUPPORTED_VERSION


def raise_if(code: int, message: str | None = None) -> None:
    """Raise the typed error of a code, unless it is NONE."""
    error: ApiError | None = error_for(code, message or None)
    if error is not None:
        raise error


def _as_admin_error(error: CallError, endpoint: Endpoint) -> AdminError | ApiError:
    if error.failure is Failure.UNAUTHENTICATED:
        refused = error_for(ErrorCode.SASL_AUTHENTICATION_FAILED, error.detail)
        assert refused is not None, "the code is no success"
        return refused
    if error.failure is Failure.UNSUPPORTED_VERSION:
        return NotSupported(error.detail)
    return Unreachable(f"{endpoint}", [error.detail])
