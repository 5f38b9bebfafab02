"""`kafka-storage` beside the transcripts of Apache Kafka 4.3.1: the same output, exit codes and files for the same
arguments.

STO-01, STO-02, TOK-15: every way to format, release versions, features and what they need, SCRAM, what is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.cli import storage
from controller_runtime.protocol.record_batch import batch_headers
from controller_runtime.storage import formatting
from controller_runtime.storage.snapshot_batches import SnapshotContent, parse_snapshot, snapshot_bytes
from support.golden import GOLDEN, json_lines

pytestmark = pytest.mark.conformance

COMMANDS = json_lines("format/commands.jsonl.gz")
MODES = sorted({row["mode"] for row in COMMANDS})
JAVA_ROOT = "/tmp/kafka/format"
RANDOM_SALT = re.compile(r"(name='alice', mechanism=1, salt=)\[.*?\](, storedKey=)\[.*?\](, serverKey=)\[.*?\]")


def configuration(mode: str, row: dict[str, Any], root: Path) -> Path:
    """The configuration of a golden command, its paths moved below `root`. Refused modes have none left: a plain one
    stands in.
    """
    java_path = row["args"][row["args"].index("-c") + 1]
    golden = GOLDEN / "format" / Path(java_path).relative_to(JAVA_ROOT)
    path = root / Path(java_path).relative_to(JAVA_ROOT)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = golden.read_text() if golden.exists() else plain(mode, java_path)
    path.write_text(text.replace(JAVA_ROOT, str(root)))
    return path


def plain(mode: str, java_path: str) -> str:
    role = "broker" if mode == "refused/standalone-on-broker" else "controller"
    voters = "controller.quorum.bootstrap.servers=localhost:9093"
    if mode == "refused/standalone-with-voters":
        voters = "controller.quorum.voters=1@localhost:9093"
    listener = "PLAINTEXT://localhost:9092" if role == "broker" else "CONTROLLER://localhost:9093"
    node = 9 if mode == "refused/not-an-initial-controller" else 1
    return (
        f"process.roles={role}\nnode.id={node}\n{voters}\nlisteners={listener}\ncontroller.listener.names=CONTROLLER\n"
        f"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\nlog.dirs={Path(java_path).parent}/data\n"
    )


def normal(text: str, root: Path) -> str:
    """Without what chance decides: directory ids and salts, and the order of directories, which hangs on
    their paths.
    """
    text = text.replace(str(root), JAVA_ROOT)
    text = re.sub(r"directory\.id=[\w-]{22}", "directory.id=RANDOM", text)
    text = RANDOM_SALT.sub(r"\1RANDOM\2RANDOM\3RANDOM", text)
    head, *lines = text.split("\nFormatting ")
    return "\nFormatting ".join([head, *sorted(line.rstrip("\n") for line in lines)])


@pytest.mark.parametrize("mode", MODES)
def test_every_command_says_and_exits_as_kafka_does(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for row in (row for row in COMMANDS if row["mode"] == mode):
        path = configuration(mode, row, tmp_path)
        arguments = [str(path) if value.startswith(JAVA_ROOT) else value for value in row["args"]]
        code = storage.main(arguments)
        said = capsys.readouterr()
        ours = (normal(said.out, tmp_path), said.err.rstrip(), code)
        assert ours == (normal(row["stdout"], tmp_path), row["stderr"].rstrip(), row["rc"]), arguments


def checkpoints(directory: Path) -> dict[str, Path]:
    return {str(path.relative_to(directory)): path for path in sorted(directory.rglob("*.checkpoint"))}


@pytest.mark.parametrize("mode", [mode for mode in MODES if (GOLDEN / "format" / mode).exists()])
def test_every_directory_has_the_files_and_records_of_kafka(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for row in (row for row in COMMANDS if row["mode"] == mode and row["args"][0] == "format"):
        path = configuration(mode, row, tmp_path)
        storage.main([str(path) if value.startswith(JAVA_ROOT) else value for value in row["args"]])
        golden = GOLDEN / "format" / path.relative_to(tmp_path).parent
        ours, theirs = path.parent, checkpoints(golden)
        names = {str(p.relative_to(golden)) for p in golden.rglob("*") if p.is_file()}
        assert {str(p.relative_to(ours)) for p in ours.rglob("*") if p.is_file()} == names
        for name, found in checkpoints(ours).items():
            mine, java = (comparable(parse_snapshot(p.read_bytes(), name)) for p in (found, theirs[name]))
            assert mine == java, name
            read_only = found.parent.name == "__cluster_metadata-0"
            assert found.stat().st_mode & 0o777 == (0o400 if read_only else 0o644)


def comparable(content: SnapshotContent) -> tuple[Any, ...]:
    """Content without times, without the voters' random directory id (standalone) and the SCRAM keys of a
    random salt.
    """
    voters = content.voters
    keys = [(v.voter_id, v.endpoints, v.kraft_version_feature) for v in voters.voters] if voters else None
    known = [v.voter_directory_id for v in voters.voters] if voters and len(voters.voters) > 1 else None
    values = [value for value in content.values if not (value[1] == 11 and b"\x06alice\x01" in value)]
    return (content.kraft_version, keys, known, values, len(content.values))


CHECKPOINTS = sorted(GOLDEN.glob("**/*.checkpoint"))


@pytest.mark.parametrize("path", CHECKPOINTS, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_snapshots_of_java_are_written_back_byte_for_byte(path: Path) -> None:
    """Every batch carries the time at which Java closed it, so those of several are given back one by one."""
    data = path.read_bytes()
    headers = list(batch_headers(data))
    content = parse_snapshot(data, str(path))
    now = headers[0].base_timestamp
    ours = snapshot_bytes(content, headers[0].partition_leader_epoch, now, headers[-1].base_timestamp)
    mine = list(batch_headers(ours))
    assert [h.size_in_bytes for h in mine] == [h.size_in_bytes for h in headers]
    if {header.base_timestamp for header in headers[:-1]} == {now}:
        assert ours == data
    for my, java in zip(mine, headers, strict=True):
        same = slice(61, None)  # all but the header, whose times and so checksum differ
        assert ours[my.position : my.end_position][same] == data[java.position : java.end_position][same]


def test_some_snapshots_of_java_carry_one_time_and_are_equal_whole() -> None:
    equal = sum(
        len({h.base_timestamp for h in list(batch_headers(path.read_bytes()))[:-1]}) == 1 for path in CHECKPOINTS
    )
    assert equal >= 10


def test_directories_are_formatted_in_the_order_of_a_java_hash_map() -> None:
    rows = [row for row in COMMANDS if row["args"][0] == "format"] + [
        {"stdout": row["out"]} for row in json_lines("cluster/tools.jsonl.gz") if row["tool"] == "kafka-storage"
    ]
    orders = [re.findall(r"Formatting .* directory (\S+) with", row["stdout"]) for row in rows]
    assert sum(len(order) > 1 for order in orders) >= 6
    for order in orders:
        assert formatting._java_order(sorted(order)) == order
