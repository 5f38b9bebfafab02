"""The metadata log on a real disk: a killed process, a full disk, a writer thread beside a reader."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from controller_runtime.identifiers import Epoch, NodeId, Offset
from controller_runtime.storage.errors import DirectoryLocked, DiskFailed
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog, PendingWrite
from controller_runtime.storage.quorum_state import QuorumState, load_quorum_state, save_quorum_state
from support.disks.raw_batches import raw_batch

pytestmark = pytest.mark.integration

FILES = OsFileSystem()

WRITER = """
import sys
sys.path[:0] = [sys.argv[2]]
from support.disks.raw_batches import raw_batch
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog

log = MetadataLog.open(OsFileSystem(), sys.argv[1], LogConfig(segment_bytes=4000))
while True:
    for _ in range(3):
        log.append(raw_batch(log.end_offset, payload=b"x" * 200))
    pending = log.take_pending_write()
    pending.perform()
    print(log.complete(pending).flushed_offset, flush=True)
"""


def test_a_killed_process_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[2])
    directory = str(tmp_path / "log")
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, directory, tests], stdout=subprocess.PIPE, cwd=Path(tests).parent
        )
        assert writer.stdout is not None
        reported = 0
        for _ in range(40):
            reported = int(writer.stdout.readline())
        writer.kill()
        reported = max([reported, *(int(line) for line in writer.stdout.read().split(b"\n")[:-1])])
        writer.wait(20)
        writer.stdout.close()
        log = MetadataLog.open(FILES, directory, LogConfig(segment_bytes=4000))
        assert log.end_offset >= reported >= 120
        offset = Offset(0)
        while data := log.read(offset, 10_000):
            for place in split_batches(data):
                assert place.base_offset == offset
                offset = Offset(place.last_offset + 1)
        assert offset == log.end_offset
        log.close()


def test_a_disk_that_takes_no_more_is_reported_and_keeps_what_it_has(tmp_path: Path) -> None:
    """The limit on a file's size stands for a full disk: both make write(2) fail."""
    directory = str(tmp_path / "log")
    code = f"""
import resource, signal, sys
sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from support.disks.raw_batches import raw_batch
from controller_runtime.storage.errors import DiskFailed
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.metadata_log import MetadataLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = MetadataLog.open(OsFileSystem(), {directory!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    while True:
        log.append(raw_batch(log.end_offset, payload=b"x" * 1000))
        pending = log.take_pending_write()
        pending.perform()
        log.complete(pending)
except DiskFailed as error:
    print(log.flushed_offset, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    flushed, _, error = done.stdout.strip().partition(" ")
    assert int(flushed) == 9
    assert error == f"cannot write to {directory}/00000000000000000000.log: File too large"
    log = MetadataLog.open(FILES, directory)
    assert log.end_offset == 9
    assert log.torn_bytes > 0
    log.close()


def perform(pending: PendingWrite, failures: list[BaseException]) -> None:
    try:
        pending.perform()
    except BaseException as error:
        failures.append(error)


def test_a_reader_sees_every_append_while_a_thread_writes_them(tmp_path: Path) -> None:
    log = MetadataLog.open(FILES, str(tmp_path / "log"), LogConfig(segment_bytes=20_000, tail_bytes=2000))
    failures: list[BaseException] = []
    for round_number in range(60):
        for _ in range(20):
            log.append(raw_batch(log.end_offset, payload=bytes([round_number]) * 100))
        pending = log.take_pending_write()
        assert pending is not None
        thread = threading.Thread(target=perform, args=(pending, failures))
        thread.start()
        while thread.is_alive():
            log.append(raw_batch(log.end_offset))
            offset = Offset(max(0, log.end_offset - 300))
            while data := log.read(offset, 5000):
                offset = Offset(list(split_batches(data))[-1].last_offset + 1)
            assert offset == log.end_offset
            time.sleep(0)
        thread.join()
        log.complete(pending)
    assert failures == []
    log.close()
    again = MetadataLog.open(FILES, str(tmp_path / "log"))
    assert again.end_offset >= 1200
    again.close()


def test_a_lock_is_held_once_and_let_go(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    lock = FILES.lock(path)
    with pytest.raises(DirectoryLocked, match="already locked by this process"):
        FILES.lock(path)
    code = (
        "import sys; from controller_runtime.storage.filesystem import OsFileSystem; OsFileSystem().lock(sys.argv[1])"
    )
    command = [sys.executable, "-c", code, path]
    other = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[3]
    )
    assert other.returncode != 0
    assert f"{path} is locked by another process" in other.stderr
    lock.release()
    FILES.lock(path).release()
    subprocess.run(command, timeout=60, check=True, cwd=Path(__file__).parents[3])


def test_a_quorum_state_is_replaced_whole(tmp_path: Path) -> None:
    for epoch in range(1, 20):
        save_quorum_state(FILES, str(tmp_path), QuorumState(Epoch(epoch), voted_id=NodeId(epoch)))
        found = load_quorum_state(FILES, str(tmp_path))
        assert found is not None
        assert found.epoch == epoch
    assert [path.name for path in tmp_path.iterdir()] == ["quorum-state"]


def test_a_directory_without_permission_is_named(tmp_path: Path) -> None:
    with pytest.raises((DiskFailed, OSError), match="nowhere"):
        FILES.open(str(tmp_path / "nowhere" / "file"), create=True)
