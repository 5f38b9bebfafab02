"""What a process tells before a recovery stops it; one that tells nonsense tells nothing, and hinders nobody."""

from __future__ import annotations

import socket
import threading

import pytest

from kraft_operator import witnesses
from kraft_operator.operations.verdict import Witness
from kraft_operator.witnesses import ask_witnesses

pytestmark = pytest.mark.unit

PAGE = b"kafka_server_raftmetrics_high_watermark 41.0\nkafka_server_raftmetrics_current_epoch 7.0\n"


def answering(data: bytes) -> tuple[str, threading.Thread]:
    """The address of somebody who answers one connection with these bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(data)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/metrics", thread


def test_who_does_not_speak_http_is_no_witness_and_the_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witnesses, "SECONDS", 60)
    plain, first = answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE))
    other, second = answering(b"\x00\x00\x00\x04what is this\r\n\r\n")
    found = ask_witnesses({1: plain, 2: other}, {})
    for thread in (first, second):
        thread.join(20)
    assert found == (Witness(1, 41, 7),)
