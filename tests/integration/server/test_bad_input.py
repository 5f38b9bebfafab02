"""What others send or leave behind must not cost a node its life, its memory, or anything it acknowledged."""

from __future__ import annotations

import shutil
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, NodeId
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, eventually, kraft

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("bad-input"), extra={"socket.request.max.bytes": "1048576"}) as running:
        running.start()
        running.wait_for_leader()
        yield running
        assert running.quorum().high_watermark > 0, "the node still commits after all of this"


@pytest.fixture
def node(cluster: Cluster) -> Iterator[NodeProcess]:
    one = cluster.nodes[1]
    before = cluster.quorum().high_watermark
    yield one
    assert one.is_running, one.log()[-2000:]
    eventually("commits go on", lambda: cluster.quorum().high_watermark > before)


def connect(node: NodeProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", node.port), timeout=20)


def closed_without_answer(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def resident_kib(node: NodeProcess) -> int:
    status = Path(f"/proc/{node.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])


def read_frame(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as stream:
        size = struct.unpack(">i", stream.read(4))[0]
        return stream.read(size)


HEADER = struct.Struct(">hhih")


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (struct.pack(">i", 1 << 20 | 1) + b"x" * 100, "larger than the largest allowed"),
        (struct.pack(">i", -5), "cannot have -5 bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "this is HTTP"),
        (struct.pack(">i", 10) + HEADER.pack(999, 0, 1, -1), "no API with key 999"),
        (struct.pack(">i", 11) + HEADER.pack(55, 99, 1, -1) + b"\0", "DESCRIBE_QUORUM has no version 99"),
        (struct.pack(">i", 14) + HEADER.pack(3, 0, 1, -1) + bytes(4), "METADATA v0 is not served on CONTROLLER"),
        (struct.pack(">i", 4) + b"\0\0\0\0", "a header needs 8 bytes"),
        (struct.pack(">i", 16) + HEADER.pack(55, 2, 1, -1) + b"\0" + b"\xff\xff\xff\x7f\0", "DescribeQuorumRequest"),
    ],
    ids=["too large", "negative", "HTTP", "unknown API", "unknown version", "not served here", "no header",
        "claimed array"],
)  # fmt: skip
def test_what_cannot_be_answered_ends_its_connection_with_a_logged_reason(
    node: NodeProcess, sent: bytes, reason: str
) -> None:
    """QUO-09, ACL-32: an API that the listener does not expose among them."""
    before = len(node.log())
    with connect(node) as connection:
        connection.sendall(sent)
        assert closed_without_answer(connection)
    eventually(
        "the reason is logged",
        lambda: "closing the connection" in node.log()[before:] and reason in node.log()[before:],
    )


def test_api_versions_is_answered_at_any_version(node: NodeProcess) -> None:
    with connect(node) as connection:
        connection.sendall(struct.pack(">i", 11) + HEADER.pack(18, 77, 5, -1) + b"\0")
        answer = read_frame(connection)
    assert answer == struct.pack(">ihihhh", 5, 35, 1, 18, 0, 4)


def test_half_a_frame_waits_for_the_rest_and_holds_nobody_up(node: NodeProcess) -> None:
    whole = encode_request(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4, 9, "half")
    with connect(node) as slow, connect(node) as quick:
        slow.sendall(whole[: len(whole) // 2])
        quick.sendall(whole)
        assert read_frame(quick)[:4] == struct.pack(">i", 9)
        slow.sendall(whole[len(whole) // 2 :])
        assert read_frame(slow)[:4] == struct.pack(">i", 9)


def test_a_claimed_size_allocates_nothing(node: NodeProcess) -> None:
    before = resident_kib(node)
    connections = [connect(node) for _ in range(100)]
    for connection in connections:
        connection.sendall(struct.pack(">i", 1 << 20) + b"a few bytes")
    assert resident_kib(node) - before < 8 * 1024
    for connection in connections:
        connection.close()


def test_ten_thousand_requests_whose_answers_nobody_reads_cost_little_memory(node: NodeProcess) -> None:
    request = encode_request(ApiVersionsRequest(client_software_name="deaf", client_software_version="1"), 4, 1, "deaf")
    before = resident_kib(node)
    with connect(node) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(3)
        data = memoryview(request * 10_000)
        sent = 0
        try:
            while sent < len(data):
                sent += deaf.send(data[sent : sent + 65536])
        except TimeoutError:
            pass
        with connect(node) as other:
            other.sendall(request)
            assert len(read_frame(other)) > 100
        assert resident_kib(node) - before < 8 * 1024


def test_a_thousand_idle_connections_do_not_hinder_the_next(node: NodeProcess) -> None:
    crowd = [connect(node) for _ in range(1000)]
    request = encode_request(
        ApiVersionsRequest(client_software_name="one", client_software_version="1"), 4, 3, "one more"
    )
    with connect(node) as connection:
        connection.sendall(request)
        assert read_frame(connection)[:4] == struct.pack(">i", 3)
    for one in crowd:
        one.close()


def test_a_fetch_for_another_cluster_is_refused_with_its_code(node: NodeProcess) -> None:
    topic = FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(FetchPartition(partition=0),))
    request = FetchRequest(cluster_id="AAAAAAAAAAAAAAAAAAAAAQ", topics=(topic,))
    with connect(node) as connection:
        connection.sendall(encode_request(request, 17, 2, "stranger"))
        answer = read_frame(connection)
    assert struct.unpack(">h", answer[9:11])[0] == 104


# What is wrong on the disk, or with the other processes.


def refused_start(node: NodeProcess) -> str:
    node.start()
    assert node.wait(60) == 1
    return node.log()


def test_a_second_node_on_the_same_directory_is_refused(cluster: Cluster, tmp_path: Path, node: NodeProcess) -> None:
    second = Cluster(tmp_path).nodes[1]
    second.properties["log.dirs"] = node.properties["log.dirs"]
    said = refused_start(second)
    assert ".lock" in said or "locked" in said


def test_a_node_on_a_port_in_use_says_which(cluster: Cluster, tmp_path: Path, node: NodeProcess) -> None:
    second = Cluster(tmp_path).nodes[1]
    second.properties["listeners"] = f"CONTROLLER://127.0.0.1:{node.port}"
    second.format("--standalone")
    assert f"cannot listen on 127.0.0.1:{node.port}" in refused_start(second)


def test_a_directory_that_is_missing_or_not_formatted_is_named(tmp_path: Path) -> None:
    node = Cluster(tmp_path).nodes[1]
    assert "does not exist" in refused_start(node)
    assert "kafka-storage format" in node.log()


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    node = Cluster(tmp_path).nodes[1]
    node.format("--standalone")
    node.properties["node.id"] = "2"
    said = refused_start(node)
    assert "node.id" in said or "node id" in said


def test_a_torn_tail_is_cut_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.start()
        node = cluster.wait_for_leader()
        committed = cluster.quorum().high_watermark
        node.kill()
        log = Path(node.properties["log.dirs"]) / "__cluster_metadata-0" / "00000000000000000000.log"
        size = log.stat().st_size
        with log.open("ab") as file:
            file.write(struct.pack(">qi", committed + 1000, 500) + b"half of a batch that a crash left behind")
        node.start()
        cluster.wait_for_leader()
        assert cluster.quorum().high_watermark > committed
        assert b"half of a batch" not in log.read_bytes()
        assert log.stat().st_size >= size


def test_a_corrupt_log_is_refused_with_file_and_place_and_left_as_it_is(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.start()
        node = cluster.wait_for_leader()
        eventually("a few batches", lambda: cluster.quorum().high_watermark > 20)
        node.kill()
        log = Path(node.properties["log.dirs"]) / "__cluster_metadata-0" / "00000000000000000000.log"
        damaged = bytearray(log.read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        log.write_bytes(damaged)
        said = refused_start(node)
        assert "00000000000000000000.log" in said
        assert log.read_bytes() == bytes(damaged)


@pytest.mark.parametrize("name", ["bootstrap.checkpoint", "meta.properties", "__cluster_metadata-0/quorum-state"])
def test_a_small_file_that_cannot_be_read_is_named_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.start()
        node = cluster.wait_for_leader()
        node.kill()
        path = Path(node.properties["log.dirs"], name)
        path.chmod(0o600)
        path.write_bytes(b"\0 not what it was \xff")
        said = refused_start(node)
        assert "Traceback" not in said
        assert path.name in said.rsplit("CRITICAL", 1)[-1]
        assert path.read_bytes() == b"\0 not what it was \xff"


def test_a_full_disk_ends_the_process_and_everything_acknowledged_is_there_after_it(tmp_path: Path) -> None:
    """A limit on file sizes is a full disk to the process: a write fails. It must not go on, and must not have lied."""
    with Cluster(tmp_path, extra={"metadata.max.idle.interval.ms": "20"}) as cluster:
        cluster.format()
        node = cluster.nodes[1]
        node.wrapper = ("prlimit", "--fsize=8192")
        node.start()
        committed = 0

        def ended() -> bool:
            nonlocal committed
            if node.is_running:
                try:
                    committed = max(committed, cluster.quorum(1.0).high_watermark)
                except Exception:
                    return False
            return not node.is_running

        eventually("the disk is full", ended, 120)
        assert node.wait() == 1
        node.wrapper = ()
        node.start()
        cluster.wait_for_leader()
        assert cluster.quorum().high_watermark >= committed > 0


def test_a_wrong_cluster_id_keeps_a_node_out(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.format()
        stranger = cluster.nodes[3]
        shutil.rmtree(stranger.properties["log.dirs"])
        stranger.format("--no-initial-controllers", cluster_id="AAAAAAAAAAAAAAAAAAAAAQ")
        for node in cluster.nodes.values():
            node.start()
        cluster.wait_for_leader()
        ends = cluster.log_end_offsets()
        assert ends[NodeId(3)] in {-1, 0}, "it never fetched anything that counts"
        assert CLUSTER_ID not in Path(stranger.properties["log.dirs"], "meta.properties").read_text()


def test_a_bad_configuration_ends_the_start_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("process.roles=controller\nnode.id=x\ncontroller.listener.names=CONTROLLER\n")
    done = kraft("server-start", str(path))
    assert done.returncode == 1
    assert "server.properties:2: Invalid value x for configuration node.id" in done.stderr
