from __future__ import annotations

import asyncio

import pytest

from controller_runtime.server.telemetry.http import MAX_HEAD_BYTES, Answer, HttpPort

pytestmark = pytest.mark.integration


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


def broken() -> Answer:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", b"200 OK"),
        (b"GET /livez?verbose HTTP/1.0\r\n\r\n", b"200 OK"),
        (b"GET /nowhere HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"GET /readyz HTTP/1.1\r\n\r\n", b"503 Service Unavailable"),
        (b"POST /livez HTTP/1.1\r\n\r\n", b"405 Method Not Allowed"),
        (b"GET /broken HTTP/1.1\r\n\r\n", b"500 Internal Server Error"),
        (b"nonsense\r\n\r\n", b"400 Bad Request"),
        (b"GET /" + b"x" * MAX_HEAD_BYTES, b"431 Request Header Fields Too Large"),
    ],
)
async def test_every_request_has_its_answer(request_head: bytes, status: bytes) -> None:
    port = HttpPort({"/livez": lambda: Answer(200, "ok\n"), "/readyz": lambda: Answer(503, "why\n"), "/broken": broken})
    number = await port.open("127.0.0.1", 0)
    answer = await ask(number, request_head)
    assert answer.startswith(b"HTTP/1.1 " + status)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    port.close()


async def test_head_has_no_body() -> None:
    port = HttpPort({"/livez": lambda: Answer(200, "ok\n")})
    number = await port.open("127.0.0.1", 0)
    assert (await ask(number, b"HEAD /livez HTTP/1.1\r\n\r\n")).endswith(b"\r\n\r\n")
    port.close()


async def test_a_route_that_has_much_to_count_does_not_hold_up_the_others() -> None:
    counted = asyncio.Event()

    async def slow() -> Answer:
        await counted.wait()
        return Answer(200, "counted\n")

    port = HttpPort({"/metrics": slow, "/livez": lambda: Answer(200, "ok\n")})
    number = await port.open("127.0.0.1", 0)
    waiting = asyncio.create_task(ask(number, b"GET /metrics HTTP/1.1\r\n\r\n"))
    assert (await ask(number, b"GET /livez HTTP/1.1\r\n\r\n")).endswith(b"ok\n")
    assert not waiting.done()
    counted.set()
    assert (await waiting).endswith(b"counted\n")
    port.close()
