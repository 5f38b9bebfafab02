"""Apache Kafka 4.3.1's own tools on our disks, and ours on theirs.

INT-03, STO-01: formatted directories, metadata logs and their dumps.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller_runtime.cli import dump_log, storage
from controller_runtime.identifiers import METADATA_TOPIC_ID, Offset, Uuid
from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.control_records import control_record
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.leader_change_message import LeaderChangeMessage
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.record_batch import Record, batch_headers, encode_batch
from controller_runtime.storage.errors import DirectoryLocked
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.partition_log import PartitionLog
from controller_runtime.storage.snapshot_batches import SnapshotContent, parse_snapshot, snapshot_bytes
from support.apache_kafka.java_kafka import JavaNode, require_java, run_tool
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("java")]

CLUSTER = "p5mbgr7oRWGgtv2XkF-iIw"
NOW = 1_795_220_000_000


@pytest.fixture(scope="module")
def java() -> str:
    return require_java()


def configuration(folder: Path, port: int = 29093) -> Path:
    folder.mkdir()
    path = folder / "server.properties"
    path.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}\nlisteners=CONTROLLER://127.0.0.1:{port}\n"
        f"log.dirs={folder}/data\n"
    )
    return path


def metadata_log(folder: Path) -> Path:
    """A log of ours with control and data records, several segments and a snapshot."""
    directory = folder / "__cluster_metadata-0"
    log = MetadataLog.open(OsFileSystem(), str(directory), LogConfig(segment_bytes=1000, index_interval_bytes=300))
    leader = control_record(LeaderChangeMessage(leader_id=1), offset=0, timestamp=NOW)
    log.append(encode_batch([leader], partition_leader_epoch=1, is_control=True))
    for offset in range(1, 60, 2):
        values = [
            encode_record(FeatureLevelRecord(name="metadata.version", feature_level=30), 0),
            encode_record(NoOpRecord(), 0),
        ]
        records = [Record(offset + n, NOW + offset, None, value) for n, value in enumerate(values)]
        log.append(encode_batch(records, partition_leader_epoch=1 + offset // 20))
    pending = log.take_pending_write()
    assert pending is not None
    pending.perform()
    log.complete(pending)
    log.close()
    return directory


def test_java_dumps_our_metadata_log_as_we_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = metadata_log(tmp_path)
    content = SnapshotContent(NOW, None, None, (encode_record(NoOpRecord(), 0),) * 3)
    snapshot = directory / "00000000000000000031-0000000002.checkpoint"
    snapshot.write_bytes(snapshot_bytes(content, 2, NOW))
    files = ",".join(str(path) for path in [*sorted(directory.glob("*.log")), snapshot])
    assert files.count(".log") >= 3
    said = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", files)
    assert said.rc == 0
    assert dump_log.main(["--cluster-metadata-decoder", "--files", files]) == 0
    ours = capsys.readouterr()
    assert ours.out == said.out
    assert sorted(ours.err.splitlines()) == sorted(said.err.splitlines())
    assert said.out.count("isvalid: true") == 31 + 3


def test_java_finds_our_indexes_sane_and_true(tmp_path: Path) -> None:
    directory = metadata_log(tmp_path)
    indexes = [str(path) for path in [*directory.glob("*.index"), *directory.glob("*.timeindex")]]
    assert len(indexes) >= 6
    said = run_tool("kafka-dump-log", "--index-sanity-check", "--files", ",".join(indexes))
    for index in indexes:
        verdict = "passed sanity check." if Path(index).stat().st_size else "is empty."
        assert f"{index} {verdict}" in said.out, said
    said = run_tool("kafka-dump-log", "--verify-index-only", "--files", ",".join(indexes))
    assert (said.rc, said.err) == (0, "")


def corrupt(path: Path, how: str) -> None:
    """Change a first entry, leave a torn one, preallocate, or exchange the first two entries."""
    size = 8 if path.suffix == ".index" else 12
    data = path.read_bytes()
    first, second, rest = data[:size], data[size : 2 * size], data[2 * size :]
    number = size - 4 if how == "other offset" and size == 12 else 0
    path.write_bytes(
        {
            "other value": first[:3] + bytes([first[3] ^ 1]) + first[4:] + second + rest,
            "other offset": first[: number + 3] + bytes([first[number + 3] ^ 1]) + first[number + 4 :] + second + rest,
            "torn": data + b"abc",
            "preallocated": data + bytes(2 * size),
            "exchanged": second + first + rest,
        }[how]
    )


@pytest.mark.parametrize("how", ["other value", "other offset", "torn", "preallocated", "exchanged"])
def test_what_is_wrong_with_an_index_is_told_as_java_tells_it(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted: list[list[str]] = []
    for suffix in ("index", "timeindex"):
        for number, mode in enumerate(([], ["--verify-index-only"], ["--index-sanity-check"])):
            directory = metadata_log(tmp_path / f"{suffix} {number}")  # Java's mends what is torn
            path = next(one for one in sorted(directory.glob(f"*.{suffix}")) if one.stat().st_size >= 16)
            corrupt(path, how)
            wanted.append([*mode, "--files", str(path)])
    ours = []
    for arguments in wanted:
        code = dump_log.main(arguments)
        told = capsys.readouterr()
        ours.append((code, told.out, told.err.splitlines()))
    with ThreadPoolExecutor(3) as pool:
        said = list(pool.map(lambda arguments: run_tool("kafka-dump-log", *arguments), wanted))
    stackless = [[line for line in one.err.splitlines() if not line.startswith("\tat ")] for one in said]
    assert ours == [(one.rc, one.out, err) for one, err in zip(said, stackless, strict=True)]


def test_java_dumps_our_topic_logs_as_we_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = PartitionLog.open(OsFileSystem(), str(tmp_path / "orders-0"), Uuid.of(3, 3))
    for number, compression in enumerate(Compression):
        first = number * 50
        records = [Record(n, NOW + n, b"key %d" % n, b"value %d" % n, (("h", b"1"),)) for n in range(first, first + 50)]
        log.append(encode_batch(records, partition_leader_epoch=0, compression=compression))
    log.close()
    path = str(tmp_path / "orders-0" / "00000000000000000000.log")
    said = run_tool("kafka-dump-log", "--print-data-log", "--files", path)
    assert dump_log.main(["--print-data-log", "--files", path]) == 0
    assert capsys.readouterr().out == said.out
    assert said.out.count("payload: value") == 250


@pytest.mark.parametrize("mode", [["--standalone"], ["--no-initial-controllers", "--release-version", "3.9"]])
def test_we_format_as_java_formats(mode: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, java = configuration(tmp_path / "ours"), configuration(tmp_path / "java")
    assert storage.main(["format", "-c", str(ours), "-t", CLUSTER, *mode]) == 0
    said = run_tool("kafka-storage", "format", "-c", str(java), "-t", CLUSTER, *mode)
    assert capsys.readouterr().out == said.out.replace(str(java.parent), str(ours.parent))
    trees = [sorted(str(p.relative_to(c.parent)) for p in c.parent.rglob("*")) for c in (ours, java)]
    assert trees[0] == trees[1]
    for name in (n for n in trees[0] if n.endswith("checkpoint")):
        files = [c.parent / name for c in (ours, java)]
        contents = [parse_snapshot(file.read_bytes(), name) for file in files]
        assert contents[0].values == contents[1].values
        assert [h.size_in_bytes for h in batch_headers(files[0].read_bytes())] == [
            h.size_in_bytes for h in batch_headers(files[1].read_bytes())
        ]
        assert files[0].stat().st_mode == files[1].stat().st_mode


def test_java_accepts_our_directory_and_we_accept_javas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, java = configuration(tmp_path / "ours"), configuration(tmp_path / "java")
    storage.main(["format", "-c", str(ours), "-t", CLUSTER, "--standalone"])
    run_tool("kafka-storage", "format", "-c", str(java), "-t", CLUSTER, "--standalone")
    for path in (ours, java):
        capsys.readouterr()
        said = run_tool("kafka-storage", "info", "-c", str(path))
        assert (storage.main(["info", "-c", str(path)]), capsys.readouterr().out) == (0, said.out)
        assert said.rc == 0
        again = run_tool("kafka-storage", "format", "-c", str(path), "-t", CLUSTER, "--standalone")
        assert storage.main(["format", "-c", str(path), "-t", CLUSTER, "--standalone"]) == again.rc == 1
        assert capsys.readouterr().err == again.err


def test_a_java_controller_runs_on_our_format_and_we_read_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = configuration(tmp_path / "node", port=29193)
    storage.main(["format", "-c", str(path), "-t", CLUSTER, "--standalone"])
    node = JavaNode(path, tmp_path / "log.txt")
    try:
        node.wait_for_log("Kafka Server started", timeout_s=120)
        lock = str(tmp_path / "node/data/.lock")
        with pytest.raises(DirectoryLocked):
            OsFileSystem().lock(lock)
    finally:
        node.stop()
    OsFileSystem().lock(lock).release()
    directory = tmp_path / "node/data/__cluster_metadata-0"
    capsys.readouterr()
    said = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(directory / f"{0:020d}.log"))
    dump_log.main(["--cluster-metadata-decoder", "--files", str(directory / f"{0:020d}.log")])
    assert capsys.readouterr().out == said.out
    log = MetadataLog.open(OsFileSystem(), str(directory))
    assert log.end_offset > 3
    (first, *_) = batch_headers(log.read(Offset(0), 1))
    assert first.is_control
    assert Uuid.of(0, 1) == METADATA_TOPIC_ID


def test_our_node_starts_from_a_directory_that_java_formatted(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        node = cluster.nodes[1]
        node.write_properties()
        formatted = run_tool(
            "kafka-storage", "format", "-c", str(node.properties_file), "-t", CLUSTER, "--standalone", timeout_s=180
        )
        assert formatted.rc == 0, formatted.err
        properties = Path(node.properties["log.dirs"], "meta.properties")
        java_s = properties.read_bytes()
        directory_id = next(line[13:] for line in java_s.decode().splitlines() if line.startswith("directory.id="))
        node.start()
        cluster.wait_for_leader()
        (voter,) = cluster.quorum().voters
        assert (voter.replica_id, str(voter.directory_id)) == (1, directory_id)
        assert f"cluster {CLUSTER}" in node.log()
        assert node.stop() == 0
        assert properties.read_bytes() == java_s


def test_our_lock_keeps_a_java_node_off_the_disk(tmp_path: Path) -> None:
    path = configuration(tmp_path / "node", port=29293)
    storage.main(["format", "-c", str(path), "-t", CLUSTER, "--standalone"])
    code = (
        "import sys; from controller_runtime.storage.filesystem import OsFileSystem as F; "
        "lock = F().lock(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    )
    lock = str(tmp_path / "node/data/.lock")
    holder = subprocess.Popen([sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    node = None
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        node = JavaNode(path, tmp_path / "log.txt")
        assert node.process.wait(120) != 0
        assert "Failed to acquire lock on file .lock" in (tmp_path / "log.txt").read_text()
    finally:
        if node is not None:
            node.kill()
        holder.communicate(timeout=10)
