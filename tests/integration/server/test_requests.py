"""Requests between sockets and node: what is fed, what is answered, what is forgotten."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from controller_runtime.broker.byte_rates import ByteRates
from controller_runtime.metadata.client_quotas import PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE, Quotas
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.parts.events import ConnectionClosed, RequestReceived, UnreadRequest
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.framing import decode_response, encode_request, encode_response
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.server.shell import requests
from controller_runtime.server.shell.client_rates import ClientRates
from controller_runtime.server.shell.requests import Fed, Requests

pytestmark = pytest.mark.integration


@dataclass
class Stand:
    requests: Requests
    events: asyncio.Queue[Fed]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def ask(self, body: Message, version: int, correlation: int = 7) -> None:
        self.writer.write(encode_request(body, version, correlation, "tester"))

    async def fed(self) -> Fed:
        return await asyncio.wait_for(self.events.get(), 20)

    async def request(self) -> RequestReceived:
        event = await self.fed()
        assert isinstance(event, RequestReceived)
        return event

    async def frame(self) -> bytes:
        size = struct.unpack(">i", await asyncio.wait_for(self.reader.readexactly(4), 20))[0]
        return await self.reader.readexactly(size)


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    async with standing(ListenerType.CONTROLLER) as made:
        yield made


@asynccontextmanager
async def standing(role: ListenerType) -> AsyncIterator[Stand]:
    events: asyncio.Queue[Fed] = asyncio.Queue()
    requests = Requests({"CONTROLLER": role}, events.put_nowait)
    listener = SocketServer("CONTROLLER", requests, ListenerLimits())
    port = await listener.open("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    yield Stand(requests, events, reader, writer)
    writer.close()
    listener.close()
    await asyncio.sleep(0)


async def test_a_request_is_fed_with_who_asked_and_answered_in_its_version(stand: Stand) -> None:
    stand.ask(DescribeQuorumRequest(), 2)
    event = await stand.request()
    assert (event.api_key, event.api_version, event.client_id, event.correlation_id) == (55, 2, "tester", 7)
    assert (event.connection.listener, event.connection.peer_address) == ("CONTROLLER", b"\x7f\0\0\1")
    stand.requests.respond(event.request_id, DescribeQuorumResponse(error_code=6))
    assert decode_response(await stand.frame(), 55, 2).body == DescribeQuorumResponse(error_code=6)


async def test_the_next_request_of_a_connection_waits_for_the_answer_of_the_one_before(stand: Stand) -> None:
    """QUO-10."""
    stand.ask(DescribeQuorumRequest(), 2, 1)
    stand.ask(DescribeQuorumRequest(), 2, 2)
    first = await stand.request()
    await asyncio.sleep(0.05)
    assert stand.events.empty()
    stand.requests.respond(first.request_id, DescribeQuorumResponse())
    assert (await stand.request()).correlation_id == 2


async def test_a_request_that_wants_no_answer_lets_the_next_one_in(stand: Stand) -> None:
    stand.ask(DescribeQuorumRequest(), 2, 1)
    stand.ask(DescribeQuorumRequest(), 2, 2)
    stand.requests.finish_without_reply((await stand.request()).request_id)
    second = await stand.request()
    stand.requests.respond(second.request_id, DescribeQuorumResponse())
    assert (await stand.frame())[:4] == struct.pack(">i", 2)


async def test_api_versions_of_the_future_is_fed_and_answered_at_version_0(stand: Stand) -> None:
    stand.writer.write(struct.pack(">ihhihb", 11, 18, 99, 5, -1, 0))
    event = await stand.request()
    assert (event.api_version, event.body) == (99, ApiVersionsRequest())
    stand.requests.respond(event.request_id, ApiVersionsResponse(error_code=35))
    assert await stand.frame() == struct.pack(">ihi", 5, 35, 0)


async def test_a_connection_that_ends_is_forgotten_and_its_late_answer_goes_nowhere(stand: Stand) -> None:
    stand.ask(DescribeQuorumRequest(), 2)
    event = await stand.request()
    stand.writer.close()
    assert await stand.fed() == ConnectionClosed(event.connection.connection_id)
    stand.requests.respond(event.request_id, DescribeQuorumResponse())
    stand.requests.close_connection(event.connection.connection_id)


async def test_an_answer_that_cannot_be_written_becomes_an_unknown_error(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    stand.ask(DescribeQuorumRequest(), 2)
    event = await stand.request()
    stand.requests.respond(event.request_id, DescribeQuorumResponse(error_code=1 << 20))
    answer = decode_response(await stand.frame(), ApiKey.DESCRIBE_QUORUM, 2)
    assert (answer.header.correlation_id, answer.body) == (7, DescribeQuorumResponse(error_code=-1, error_message=None))
    assert stand.requests.faults.counts == {("DescribeQuorum", "answered"): 1}
    assert "DescribeQuorum: a request failed while it was answered: InvalidValue at " in caplog.text


async def test_an_error_that_cannot_be_written_either_costs_the_connection(stand: Stand) -> None:
    stand.ask(CreateTopicsRequest(), 7)
    event = await stand.request()
    # As if the request had been changed since it came: nothing that was decoded has a name that cannot be encoded
    # again.
    object.__setattr__(event.body, "topics", (CreatableTopic(name=None),))  # type: ignore[arg-type]
    stand.requests.respond(event.request_id, DescribeQuorumResponse(error_code=1 << 20))
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await stand.frame()


async def test_a_connection_can_be_ended_by_the_node(stand: Stand) -> None:
    stand.ask(DescribeQuorumRequest(), 2)
    event = await stand.request()
    stand.requests.close_connection(event.connection.connection_id)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await stand.frame()


async def test_large_requests_that_wait_have_a_bound_together_and_who_asks_for_more_is_closed(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parked fetches, say: each has what it is made of in memory, as long as its client likes."""
    monkeypatch.setattr(requests, "MAX_HELD_BYTES", 5_000_000)
    many = DeleteTopicsRequest(topic_names=("t",) * 10_000)
    stand.ask(many, 5)
    first = await stand.request()
    held = stand.requests.held_bytes
    assert 10_000 * requests.ELEMENT_BYTES < held < 11_000 * requests.ELEMENT_BYTES
    port = stand.writer.get_extra_info("peername")[1]
    for body, version, served in ((many, 5, False), (DescribeQuorumRequest(), 2, True)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(encode_request(body, version, 8, "another"))
        if served:
            event = await stand.request()
            stand.requests.respond(event.request_id, DescribeQuorumResponse())
            assert await asyncio.wait_for(reader.readexactly(4), 20)
        else:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
                await asyncio.wait_for(reader.readexactly(4), 20)
        writer.close()
    assert stand.requests.held_bytes == held
    stand.requests.respond(first.request_id, DeleteTopicsResponse())
    await stand.frame()
    assert stand.requests.held_bytes == 0


async def test_what_a_request_held_is_free_when_its_connection_ends(stand: Stand) -> None:
    stand.ask(DeleteTopicsRequest(topic_names=("t",) * 10_000), 5)
    await stand.request()
    assert stand.requests.held_bytes
    stand.writer.close()
    assert isinstance(await stand.fed(), ConnectionClosed)
    assert stand.requests.held_bytes == 0


async def test_a_broker_does_not_read_what_it_only_forwards_and_relays_the_answer_in_its_bytes() -> None:
    """Not even what nobody can read: the controller says so."""
    async with standing(ListenerType.BROKER) as stand:
        flawed = encode_request(DeleteTopicsRequest(topic_names=("x",)), 5, 7, "tester")[:-3]
        stand.writer.write(struct.pack(">i", len(flawed) - 4) + flawed[4:])
        event = await stand.fed()
        assert isinstance(event, UnreadRequest)
        assert (event.api_key, event.api_version, event.correlation_id) == (ApiKey.DELETE_TOPICS, 5, 7)
        assert (event.frame, stand.requests.held_bytes) == (flawed[4:], len(flawed) - 4)
        stand.requests.relay(event.request_id, b"\0\0\0\7whatever")
        assert await stand.frame() == b"\0\0\0\7whatever"
        assert stand.requests.held_bytes == 0


async def test_a_broker_reads_what_it_judges_and_keeps_its_bytes_and_of_the_rest_none() -> None:
    async with standing(ListenerType.BROKER) as stand:
        stand.ask(IncrementalAlterConfigsRequest(), 1)
        judged = await stand.request()
        assert judged.frame == encode_request(IncrementalAlterConfigsRequest(), 1, 7, "tester", with_length=False)
        stand.requests.respond(judged.request_id, IncrementalAlterConfigsResponse())
        await stand.frame()
        stand.ask(MetadataRequest(), 12)
        assert (await stand.request()).frame is None


async def test_an_answer_to_an_unread_request_that_cannot_be_told_ends_the_connection() -> None:
    async with standing(ListenerType.BROKER) as stand:
        stand.ask(DeleteTopicsRequest(), 5)
        event = await stand.fed()
        assert isinstance(event, UnreadRequest)
        stand.requests.respond(event.request_id, DeleteTopicsResponse(throttle_time_ms=1 << 40))
        assert await stand.reader.read() == b""
        stand.requests.relay(event.request_id, b"too late")


HOURS_MS = 10_000_000


async def another(stand: Stand, port: int) -> Stand:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    return Stand(stand.requests, stand.events, reader, writer)


@pytest.mark.parametrize("forwarded", [False, True])
@pytest.mark.parametrize("version", [1, 5])
async def test_whoever_is_told_to_wait_is_not_listened_to_meanwhile_and_nobody_else_waits(
    stand: Stand, forwarded: bool, version: int
) -> None:
    """QUO-01, KIP-219, KIP-599: the answer leaves at once."""
    told = DeleteTopicsResponse(throttle_time_ms=HOURS_MS)
    stand.ask(DeleteTopicsRequest(), version, 1)
    asked = await stand.request()
    stand.ask(DescribeQuorumRequest(), 2, 2)
    if forwarded:
        stand.requests.relay(asked.request_id, encode_response(told, header_of(version))[4:])
    else:
        stand.requests.respond(asked.request_id, told)
    assert decode_response(await stand.frame(), ApiKey.DELETE_TOPICS, version).body == told
    other = await another(stand, stand.writer.get_extra_info("peername")[1])
    for correlation in range(10, 30):
        other.ask(DescribeQuorumRequest(), 2, correlation)
        event = await stand.request()
        assert event.correlation_id == correlation
        stand.requests.respond(event.request_id, DescribeQuorumResponse())
        await other.frame()
    assert stand.events.empty(), "what was sent meanwhile is not taken up"
    other.writer.close()


async def test_when_the_time_has_passed_the_next_request_is_taken_up(stand: Stand) -> None:
    stand.ask(DeleteTopicsRequest(), 5, 1)
    stand.ask(DescribeQuorumRequest(), 2, 2)
    first = await stand.request()
    stand.requests.respond(first.request_id, DeleteTopicsResponse(throttle_time_ms=40))
    assert stand.events.empty()
    assert (await stand.request()).correlation_id == 2


def header_of(version: int) -> RequestHeader:
    return RequestHeader(request_api_key=ApiKey.DELETE_TOPICS, request_api_version=version, correlation_id=1)


async def test_who_produces_too_fast_waits_even_when_no_answer_is_wanted() -> None:
    """SEC-10: acks=0; what was sent meanwhile is not taken up."""
    quotas: Quotas = {(("client-id", "tester"),): {PRODUCER_BYTE_RATE: 1.0}}
    async with standing(ListenerType.BROKER) as stand:
        stand.requests.rates = ClientRates(ByteRates(2, 1000), lambda: quotas, lambda: 1.0)
        stand.ask(ProduceRequest(acks=0, timeout_ms=1), 9, 1)
        asked = await stand.request()
        stand.ask(MetadataRequest(), 12, 2)
        stand.requests.finish_without_reply(asked.request_id)
        other = await another(stand, stand.writer.get_extra_info("peername")[1])
        other.ask(MetadataRequest(), 12, 3)
        assert (await stand.request()).correlation_id == 3
        assert stand.events.empty()
        other.writer.close()


@asynccontextmanager
async def bounding_time() -> AsyncIterator[Stand]:
    """A broker whose client `tester` may have next to nothing of its thread; a window has a second."""
    quotas: Quotas = {(("client-id", "tester"),): {REQUEST_PERCENTAGE: 1e-9}}
    async with standing(ListenerType.BROKER) as stand:
        stand.requests.rates = ClientRates(ByteRates(2, 1000), lambda: quotas, lambda: 1.0)
        stand.requests.measure = lambda: setattr(stand.requests.meter, "watching", True)
        yield stand


async def is_muted(stand: Stand) -> bool:
    """Another client is heard, and the one that was told to wait is not."""
    stand.ask(MetadataRequest(), 12, 90)
    other = await another(stand, stand.writer.get_extra_info("peername")[1])
    other.writer.write(encode_request(MetadataRequest(), 12, 91, "other"))
    heard = (await stand.request()).correlation_id
    other.writer.close()
    return heard == 91 and stand.events.empty()


async def test_who_keeps_the_thread_busy_is_answered_and_not_listened_to_for_a_window() -> None:
    """SEC-10, QUO-03: one who is not bounded is told nothing."""
    async with bounding_time() as stand:
        stand.writer.write(encode_request(MetadataRequest(), 12, 1, "other"))
        stand.requests.respond((await stand.request()).request_id, MetadataResponse())
        free = decode_response(await stand.frame(), ApiKey.METADATA, 12).body
        assert free == MetadataResponse(throttle_time_ms=0)
        stand.ask(MetadataRequest(), 12, 2)
        stand.requests.respond((await stand.request()).request_id, MetadataResponse())
        told = decode_response(await stand.frame(), ApiKey.METADATA, 12).body
        assert told == MetadataResponse(throttle_time_ms=1000)
        assert await is_muted(stand)


@pytest.mark.parametrize("version", [1, 5])
async def test_the_answer_of_a_controller_says_how_long_its_brokers_client_waits(version: int) -> None:
    """SEC-10: the longer one of what both say."""
    for told, wanted in ((0, 1000), (HOURS_MS, HOURS_MS)):
        async with bounding_time() as stand:
            stand.ask(DeleteTopicsRequest(), version, 1)
            asked = await stand.fed()
            assert isinstance(asked, UnreadRequest)
            answer = encode_response(DeleteTopicsResponse(throttle_time_ms=told), header_of(version))[4:]
            stand.requests.relay(asked.request_id, answer)
            found = decode_response(await stand.frame(), ApiKey.DELETE_TOPICS, version).body
            assert found == DeleteTopicsResponse(throttle_time_ms=wanted)
            assert await is_muted(stand)


async def test_an_answer_that_has_no_room_for_the_time_is_relayed_as_it_is() -> None:
    async with bounding_time() as stand:
        stand.ask(DeleteTopicsRequest(), 5, 1)
        stand.requests.relay((await stand.fed()).request_id, b"\0\0\0\1\0")  # type: ignore[union-attr]
        assert await stand.frame() == b"\0\0\0\1\0"


async def test_what_is_weighed_is_forgotten_with_its_connection() -> None:
    async with bounding_time() as stand:
        stand.ask(MetadataRequest(), 12, 1)
        asked = await stand.request()
        stand.writer.close()
        assert isinstance(await stand.fed(), ConnectionClosed)
        assert stand.requests.meter.spent(asked.request_id) is None
