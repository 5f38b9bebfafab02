from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from controller_runtime.identifiers import Endpoint
from controller_runtime.network.client_connection import CallError, Failure
from controller_runtime.network.client_pool import ClientOptions, ClientPool
from controller_runtime.protocol.framing import Request, encode_response
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import DescribeClusterResponse
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from support.nodes.peers import Peer, frame_of

pytestmark = pytest.mark.integration

OPTIONS = ClientOptions("test", setup_timeout_seconds=5)


@pytest.fixture
async def pool() -> AsyncIterator[ClientPool]:
    made = ClientPool(OPTIONS, lambda: 0.5)
    yield made
    await made.close()


def cluster(request: Request[Message]) -> Message:
    return DescribeClusterResponse(cluster_id=f"c{request.version}")


async def peer_at(peer: Peer) -> Endpoint:
    return Endpoint("127.0.0.1", await peer.open())


async def test_the_highest_common_version_is_spoken(pool: ClientPool) -> None:
    peer = Peer({18: (0, 4), 60: (0, 1)}, cluster)
    version, answer = await pool.call("admin", await peer_at(peer), DescribeClusterRequest(), 5)
    assert (version, answer) == (1, DescribeClusterResponse(cluster_id="c1"))
    assert [(one.key, one.version) for one in peer.requests] == [(18, 4), (60, 1)]
    peer.close()


async def test_a_peer_that_lacks_the_newest_api_versions_is_asked_again_lower(pool: ClientPool) -> None:
    peer = Peer({18: (0, 2), 60: (0, 0)}, cluster)
    version, _ = await pool.call("admin", await peer_at(peer), DescribeClusterRequest(), 5)
    assert version == 0
    assert [(one.key, one.version) for one in peer.requests] == [(18, 4), (18, 2), (60, 0)]
    peer.close()


async def test_an_api_that_the_peer_does_not_serve_fails_at_once_and_the_connection_lives(pool: ClientPool) -> None:
    peer = Peer({18: (0, 4), 60: (0, 2)}, cluster)
    endpoint = await peer_at(peer)
    with pytest.raises(CallError, match="does not serve it") as refused:
        await pool.call("admin", endpoint, FetchRequest(), 5)
    assert refused.value.failure is Failure.UNSUPPORTED_VERSION
    assert (await pool.call("admin", endpoint, DescribeClusterRequest(), 5))[0] == 2
    assert len(peer.connections) == 1
    peer.close()


async def test_calls_of_a_channel_share_a_connection_and_channels_do_not(pool: ClientPool) -> None:
    peer = Peer({18: (0, 4), 60: (0, 2), 1: (4, 18)}, lambda one: None if one.key == 1 else cluster(one))
    endpoint = await peer_at(peer)
    stuck = asyncio.ensure_future(pool.call("raft", endpoint, FetchRequest(), 30))
    answers = await asyncio.gather(*(pool.call("heartbeat", endpoint, DescribeClusterRequest(), 5) for _ in range(50)))
    assert len(answers) == 50
    assert len(peer.connections) == 2
    assert not stuck.done()
    peer.close()
    with pytest.raises(CallError) as lost:
        await stuck
    assert lost.value.failure is Failure.DISCONNECTED


async def test_an_overdue_answer_ends_the_connection_and_what_waits_behind_it(pool: ClientPool) -> None:
    silent = Peer({18: (0, 4), 60: (0, 2)}, lambda _: None)
    endpoint = await peer_at(silent)
    first = asyncio.ensure_future(pool.call("raft", endpoint, DescribeClusterRequest(), 0.2))
    second = asyncio.ensure_future(pool.call("raft", endpoint, DescribeClusterRequest(), 30))
    results = await asyncio.gather(first, second, return_exceptions=True)
    assert [one.failure for one in results if isinstance(one, CallError)] == [Failure.TIMED_OUT, Failure.DISCONNECTED]
    silent.close()


@pytest.mark.parametrize(
    "garbage",
    [
        encode_response(
            DescribeClusterResponse(),
            RequestHeader(request_api_key=60, request_api_version=2, correlation_id=99),
        ),
        b"\x7f\xff\xff\xff",
        frame_of(b"\x00\x00\x00\x02\x00\x01"),
        frame_of(b""),
    ],
    ids=["another correlation id", "a claimed size", "a cut body", "an empty frame"],
)
async def test_an_answer_that_cannot_be_read_is_a_typed_error(pool: ClientPool, garbage: bytes) -> None:
    peer = Peer({18: (0, 4), 60: (0, 2)}, lambda _: garbage)
    with pytest.raises(CallError) as broken:
        await pool.call("admin", await peer_at(peer), DescribeClusterRequest(), 5)
    assert broken.value.failure is Failure.MALFORMED
    peer.close()


async def test_a_closed_port_refuses_at_once(pool: ClientPool) -> None:
    peer = Peer({18: (0, 4)}, cluster)
    endpoint = await peer_at(peer)
    peer.close()
    with pytest.raises(CallError, match=str(endpoint)) as refused:
        await pool.call("admin", endpoint, DescribeClusterRequest(), 5)
    assert refused.value.failure is Failure.REFUSED


async def test_a_peer_that_cannot_be_reached_is_logged_once_and_once_more_when_it_is_back(
    pool: ClientPool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "controller_runtime.network.client_pool")
    first = Peer({18: (0, 4)}, cluster)
    endpoint = await peer_at(first)
    first.close()
    for _ in range(3):
        with pytest.raises(CallError):
            await pool.call("raft", endpoint, DescribeClusterRequest(), 5)
    second = Peer({18: (0, 4), 60: (0, 2)}, cluster)
    await second.open(port=endpoint.port)
    await pool.call("raft", endpoint, DescribeClusterRequest(), 5)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert lines[0].startswith(f"cannot reach {endpoint}, trying again: ")
    assert lines[1] == f"{endpoint} is reached again"
    second.close()


async def test_an_unknown_host_refuses_by_name() -> None:
    async def nobody(host: str, port: int) -> Sequence[tuple[str, int]]:
        raise OSError(f"{host}: Name or service not known")

    pool = ClientPool(OPTIONS, lambda: 0.5, resolver=nobody)
    with pytest.raises(CallError, match=r"c-0\.nodes: Name or service not known"):
        await pool.call("raft", Endpoint("c-0.nodes", 9093), DescribeClusterRequest(), 5)
    await pool.close()


@pytest.mark.parametrize("host", ["y" * 300, "a..b", "a\0b", ".", "\udcff", ""], ids=ascii)
async def test_a_host_name_that_cannot_be_one_refuses_every_call(pool: ClientPool, host: str) -> None:
    """A peer may tell any string as a host. Found by the fuzz: the attempt ended with a UnicodeError, and its callers
    waited for their deadlines.
    """
    for _ in range(2):
        with pytest.raises(CallError) as refused:
            await pool.call("raft", Endpoint(host, 1), DescribeClusterRequest(), 60)
        assert refused.value.failure is Failure.REFUSED


async def test_a_node_that_returns_under_another_address_is_reached_within_one_reconnect_back_off() -> None:
    addresses = {"controller-1": "127.0.0.2"}
    attempts: list[float] = []
    loop = asyncio.get_running_loop()

    async def name_service(host: str, port: int) -> Sequence[tuple[str, int]]:
        attempts.append(loop.time())
        return ((addresses[host], port),)

    gone: list[Endpoint] = []
    options = replace(OPTIONS, reconnect_backoff_max_seconds=30)
    pool = ClientPool(options, lambda: 0.5, resolver=name_service, peer_disconnected=gone.append)
    old = Peer({18: (0, 4), 60: (0, 2)}, cluster)
    port = await old.open("127.0.0.2")
    endpoint = Endpoint("controller-1", port)
    await pool.call("raft", endpoint, DescribeClusterRequest(), 5)
    old.close()
    while not gone:
        await asyncio.sleep(0.005)
    lost_at = loop.time()
    new = Peer({18: (0, 4), 60: (0, 2)}, cluster)
    await new.open("127.0.0.3", port)
    addresses["controller-1"] = "127.0.0.3"
    assert (await pool.call("raft", endpoint, DescribeClusterRequest(), 5))[0] == 2
    assert len(new.requests) == 2
    assert len(attempts) == 2, "one attempt for the old address, one for the new"
    assert attempts[1] - lost_at < options.reconnect_backoff_max_seconds
    await pool.close()
    new.close()


async def test_attempts_at_a_dead_port_are_spaced_by_the_back_off(pool: ClientPool) -> None:
    attempts = 0

    async def counting(host: str, port: int) -> Sequence[tuple[str, int]]:
        nonlocal attempts
        attempts += 1
        raise OSError("nobody there")

    pool.resolver = counting
    for number in range(4):
        if number == 3:
            pool.options = replace(OPTIONS, reconnect_backoff_seconds=5, reconnect_backoff_max_seconds=60)
        with pytest.raises(CallError):
            await pool.call("raft", Endpoint("x", 1), DescribeClusterRequest(), 5)
    started = asyncio.get_running_loop().time()
    with pytest.raises(CallError) as late:
        await pool.call("raft", Endpoint("x", 1), DescribeClusterRequest(), 0.1)
    assert late.value.failure is Failure.TIMED_OUT, "the call's own deadline ends the wait for the next attempt"
    assert attempts == 4
    assert asyncio.get_running_loop().time() >= started + 0.09


async def test_a_cancelled_call_is_not_sent_late_nor_does_its_deadline_end_the_connection(pool: ClientPool) -> None:
    held: list[Request[Message]] = []

    def answer(request: Request[Message]) -> Message | None:
        held.append(request)
        return None if len(held) == 1 else cluster(request)

    peer = Peer({18: (0, 4), 60: (0, 2), 1: (4, 18)}, answer)
    endpoint = await peer_at(peer)
    unsent = pool.start_call("raft", endpoint, FetchRequest(), 5, lambda *_: None)
    unsent.cancel()
    slow = asyncio.ensure_future(pool.call("raft", endpoint, DescribeClusterRequest(), 20))
    while not held:
        await asyncio.sleep(0.005)
    assert [one.key for one in held] == [60], "the fetch was cancelled before there was a connection"
    forgotten = pool.start_call("raft", endpoint, DescribeClusterRequest(), 0.05, lambda *_: None)
    forgotten.cancel()
    await asyncio.sleep(0.2)
    assert not slow.done()
    assert len(peer.connections) == 1
    slow.cancel()
    peer.close()
