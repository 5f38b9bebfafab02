"""A broker that is killed is fenced soon: its connection to the controller ends with it. One whose connection is cut,
and that lives, is not.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

import pytest

from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration

FENCED = "kafka_controller_kafkacontroller_fencedbrokercount"
SESSION_S = 600


class Wire:
    """Everything that goes to a node goes through here, and may be cut."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            self.accepted += 1
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()  # nobody is there yet, or any more
                continue
            with self._lock:
                self._open += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=_copy, args=(source, target), daemon=True).start()

    def cut(self) -> None:
        with self._lock:
            ends, self._open = self._open, []
        for end in ends:
            _end(end)

    def close(self) -> None:
        self._listening.close()
        self.cut()


def _end(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    _end(target)


def fenced(controller: NodeProcess) -> int | None:
    for line in controller.http("/metrics")[1].splitlines():
        if line.startswith(FENCED):
            return int(float(line.rpartition(" ")[2]))
    return None


def test_a_killed_broker_is_fenced_long_before_its_session_ends(tmp_path: Path) -> None:
    with Cluster(
        tmp_path, controllers=1, brokers=2, extra={"broker.session.timeout.ms": str(SESSION_S * 1000)}
    ) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        (controller,) = cluster.controller_nodes
        first, second = cluster.broker_nodes
        assert fenced(controller) == 0
        first.kill()
        eventually("the killed broker is fenced", lambda: fenced(controller) == 1)
        first.start()
        eventually("it may register anew at once", lambda: first.http("/readyz")[0] == 200)
        assert second.is_running
        assert fenced(controller) == 0


def test_a_broker_whose_connection_is_cut_comes_back_on_another_one_and_is_not_fenced(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        (controller,), (broker,) = cluster.controller_nodes, cluster.broker_nodes
        wire = Wire(controller.port)
        try:
            broker.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{wire.port}"
            controller.properties["advertised.listeners"] = f"CONTROLLER://127.0.0.1:{wire.port}"
            broker.properties["broker.heartbeat.interval.ms"] = "500"  # it lives, however busy the machine is
            cluster.start()
            cluster.wait_until_unfenced(120)
            seen: list[int | None] = []
            for _ in range(3):
                before = wire.accepted
                wire.cut()
                eventually("it connects again", lambda before=before: wire.accepted > before)  # type: ignore[misc]
                for _ in range(80):
                    seen.append(fenced(controller))
                    threading.Event().wait(0.05)
            assert set(seen) == {0}
        finally:
            wire.close()
