"""The guards as the processes that run in init containers, on real disks, with the real formatting tool."""

from __future__ import annotations

import gzip
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from storage_guard.formats import (
    DiskVerdict,
    Grant,
    GrantMode,
    Identity,
    Marker,
    MarkerState,
    Report,
    Seen,
    format_argument,
)
from support.kubernetes.guard_pod import CLUSTER_ID, GuardPod

pytestmark = pytest.mark.integration

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "cluster"
PLANNED = "G0tutkSSQ96mCoXxZo-www"


@pytest.fixture
def pod(tmp_path: Path) -> GuardPod:
    return GuardPod(tmp_path / "pod", tmp_path / "volume")


def grant_for(pod: GuardPod, report: Report, mode: GrantMode = GrantMode.INITIAL_CONTROLLERS) -> Grant:
    planned = PLANNED if mode is GrantMode.INITIAL_CONTROLLERS else None
    return Grant(pod.uid, "pvc", "pv", pod.node_id, pod.cluster_id, mode, "nonce-1", report.seen(), planned)


def first_start(pod: GuardPod) -> Report:
    """Everything up to the seal, as it is done on a new disk."""
    pod.annotate("format-mode", format_argument(GrantMode.INITIAL_CONTROLLERS, f"1@127.0.0.1:9093:{PLANNED}"))
    pod.grant(grant_for(pod, pod.run("inspect")))
    pod.run("gate")
    pod.format()
    return pod.run("seal")


def lay_golden(pod: GuardPod, node: str) -> Path:
    """A directory that a real Apache Kafka left, on this pod's volume."""
    shutil.copytree(GOLDEN / node, pod.log)
    return pod.log / "__cluster_metadata-0" / "00000000000000000000.log"


def last_batch_of(node: str) -> tuple[int, int]:
    """(epoch, end offset) as Apache Kafka's own dump tool told them."""
    dump = gzip.decompress((GOLDEN / "dump-log" / f"{node}-00000000000000000000.log.txt.gz").read_bytes()).decode()
    offset, epoch = re.findall(r"lastOffset: (\d+) .*partitionLeaderEpoch: (\d+)", dump)[-1]
    return int(epoch), int(offset) + 1


def test_a_new_disk_goes_from_inspect_to_seal_and_starts_again_without_the_operator(pod: GuardPod) -> None:
    inspected = pod.run("inspect")
    assert (inspected.verdict, inspected.reason) == (DiskVerdict.EMPTY, "NeverFormatted")
    gate = pod.begin("gate")
    assert gate.stdout is not None
    assert gate.stdout.readline() == "waiting: AwaitingGrant: the volume is empty\n"
    pod.annotate("format-mode", format_argument(GrantMode.INITIAL_CONTROLLERS, f"1@127.0.0.1:9093:{PLANNED}"))
    pod.grant(grant_for(pod, inspected))
    assert pod.finish(gate).reason == "Format"
    assert "dynamic metadata voter directory" in pod.format().stdout
    sealed = pod.run("seal")
    assert (sealed.directory_id, sealed.nonce, sealed.cluster_id) == (PLANNED, "nonce-1", CLUSTER_ID)
    marker = Marker.from_json((pod.volume / "storage-identity.json").read_text())
    assert marker == Marker(MarkerState.SEALED, CLUSTER_ID, 1, "nonce-1", "pod-1", PLANNED)

    later = GuardPod(pod.home.parent / "later", pod.volume, uid="pod-2")
    later.write_ledger(Identity(CLUSTER_ID, 1, PLANNED, "nonce-1"))
    assert later.run("inspect").reason == "Known"
    assert later.run("gate").reason == "Start"
    assert "already formatted" in later.format().stdout
    assert later.run("seal").directory_id == PLANNED


def test_a_tool_that_chose_its_own_directory_id_is_learned_from_the_seal(pod: GuardPod) -> None:
    pod.grant(grant_for(pod, pod.run("inspect"), GrantMode.NO_INITIAL_CONTROLLERS))
    pod.run("gate")
    pod.format()
    sealed = pod.run("seal")
    assert f"directory.id={sealed.directory_id}" in (pod.log / "meta.properties").read_text()


def test_a_formatting_in_the_wrong_mode_is_never_sealed(pod: GuardPod) -> None:
    """The default argument met an initial controller's grant: the directory id is not the planned one."""
    pod.annotate("format-mode", format_argument(GrantMode.INITIAL_CONTROLLERS, f"1@127.0.0.1:9093:{PLANNED}"))
    pod.grant(grant_for(pod, pod.run("inspect")))
    pod.run("gate")
    pod.annotate("format-mode", "--no-initial-controllers")
    pod.format()
    held = pod.waiting_line("seal")
    assert held.startswith("waiting: OtherDirectory: directory ")
    assert PLANNED in held


def test_a_disk_emptied_in_place_is_refused_also_to_the_pod_that_formatted_it(pod: GuardPod) -> None:
    first_start(pod)
    shutil.rmtree(pod.log)
    (pod.volume / "storage-identity.json").unlink()
    assert pod.run("inspect").reason == "NeverFormatted"
    assert pod.waiting_line("gate").startswith("waiting: FormatRefused: ")
    assert not pod.log.exists()


def test_a_disk_emptied_in_place_is_refused_to_a_new_pod(pod: GuardPod) -> None:
    first_start(pod)
    shutil.rmtree(pod.log)
    later = GuardPod(pod.home.parent / "later", pod.volume, uid="pod-2")
    later.write_ledger(Identity(CLUSTER_ID, 1, PLANNED, "nonce-1"))
    assert (later.run("inspect").verdict, later.run("inspect").reason) == (DiskVerdict.EMPTY, "DiskLost")
    assert PLANNED in later.waiting_line("gate")


def test_a_waiting_guard_ends_at_once_when_its_pod_is_deleted(pod: GuardPod) -> None:
    gate = pod.begin("gate")
    assert gate.stdout is not None
    gate.stdout.readline()
    gate.send_signal(signal.SIGTERM)
    gate.communicate(timeout=30)
    assert gate.returncode == 143


@pytest.mark.parametrize("node", ["controller-1", "controller-2", "controller-3"])
def test_the_end_of_a_log_is_the_one_that_apache_kafkas_own_tool_sees(pod: GuardPod, node: str) -> None:
    lay_golden(pod, node)
    report = GuardPod(pod.home, pod.volume, node_id=int(node[-1])).run("inspect")
    assert (report.verdict, report.reason) == (DiskVerdict.FORMATTED, "NotInLedger")
    assert (report.last_epoch, report.log_end_offset) == last_batch_of(node)


def test_a_torn_tail_ends_the_log_at_its_last_whole_batch(pod: GuardPod) -> None:
    log = lay_golden(pod, "controller-1")
    whole = pod.run("inspect")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 1)
    torn = pod.run("inspect")
    assert whole.log_end_offset is not None
    assert torn.log_end_offset is not None
    assert torn.log_end_offset < whole.log_end_offset


def test_an_old_copy_is_refused(pod: GuardPod) -> None:
    log = lay_golden(pod, "controller-1")
    report = pod.run("inspect")
    assert report.directory_id is not None
    known = Identity(CLUSTER_ID, 1, report.directory_id, None, report.last_epoch or 0, report.log_end_offset or 0)
    pod.write_ledger(known)
    assert pod.run("gate").reason == "Start"
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size // 2)
    for snapshot in log.parent.glob("*-*.checkpoint"):
        snapshot.unlink()
    assert pod.run("inspect").verdict is DiskVerdict.REGRESSED
    assert pod.waiting_line("gate").startswith("waiting: OldCopy: the log ends at offset ")


def test_swapped_disks_are_refused(pod: GuardPod) -> None:
    lay_golden(pod, "controller-2")
    assert (pod.run("inspect").verdict, pod.run("inspect").disk_node_id) == (DiskVerdict.FOREIGN, 2)
    assert pod.waiting_line("gate").startswith("waiting: DirectoryOfAnother: the directory is of node 2")


def test_a_foreign_cluster_is_refused(pod: GuardPod) -> None:
    lay_golden(pod, "controller-1")
    other = GuardPod(pod.home, pod.volume, cluster_id="4L6g3nShT-eMCtK--X86sw")
    assert other.run("inspect").message == f"the directory is of cluster {CLUSTER_ID}, not 4L6g3nShT-eMCtK--X86sw"


def empty_file(pod: GuardPod) -> None:
    (pod.log / "meta.properties").write_text("")


def torn_file(pod: GuardPod) -> None:
    text = (pod.log / "meta.properties").read_text()
    (pod.log / "meta.properties").write_text(text[: text.index("cluster.id") + 14])


def directory_instead_of_a_file(pod: GuardPod) -> None:
    (pod.log / "meta.properties").unlink()
    (pod.log / "meta.properties").mkdir()


def huge_file(pod: GuardPod) -> None:
    (pod.log / "meta.properties").write_bytes(b"#" * 100_000)


def garbage_marker(pod: GuardPod) -> None:
    (pod.volume / "storage-identity.json").write_bytes(b"\xff\x00{")


def log_is_a_directory(pod: GuardPod) -> None:
    log = pod.log / "__cluster_metadata-0" / "00000000000000000000.log"
    log.unlink()
    log.mkdir()


def file_instead_of_the_log_directory(pod: GuardPod) -> None:
    shutil.rmtree(pod.log)
    pod.log.write_text("")


def lost_identity(pod: GuardPod) -> None:
    (pod.log / "meta.properties").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        empty_file,
        torn_file,
        directory_instead_of_a_file,
        huge_file,
        garbage_marker,
        log_is_a_directory,
        file_instead_of_the_log_directory,
        lost_identity,
    ],
)
def test_a_damaged_volume_gives_a_verdict_with_a_reason_and_no_grant_helps(pod: GuardPod, damage: object) -> None:
    lay_golden(pod, "controller-1")
    assert callable(damage)
    damage(pod)
    report = pod.run("inspect")
    assert report.verdict in (DiskVerdict.UNREADABLE, DiskVerdict.FOREIGN)
    assert report.message
    pod.grant(Grant(pod.uid, "pvc", "pv", 1, CLUSTER_ID, GrantMode.NO_INITIAL_CONTROLLERS, "n", report.seen()))
    assert pod.waiting_line("gate").startswith(f"waiting: {report.reason}: ")


def test_a_volume_with_somebody_elses_data_is_foreign(pod: GuardPod) -> None:
    (pod.volume / "lost+found").mkdir()
    assert pod.run("inspect").verdict is DiskVerdict.EMPTY
    (pod.volume / "kafka-log0").mkdir()
    assert (pod.run("inspect").verdict, pod.run("inspect").message) == (
        DiskVerdict.FOREIGN,
        "the volume holds kafka-log0",
    )


def test_the_rack_reaches_the_configuration_and_is_remembered_by_the_ledger(pod: GuardPod) -> None:
    first_start(pod)
    racked = GuardPod(pod.home.parent / "racked", pod.volume, uid="pod-2", rack="Required")
    racked.write_ledger(Identity(CLUSTER_ID, 1, PLANNED, "nonce-1"))
    assert racked.waiting_line("gate").startswith("waiting: AwaitingRack: ")
    racked.annotate("rack", "zone-3")
    racked.run("gate")
    assert racked.config_file.read_text() == racked.config + "broker.rack=zone-3\n"
    racked.annotate("rack", "")
    racked.write_ledger(Identity(CLUSTER_ID, 1, PLANNED, "nonce-1", rack="zone-4"))
    racked.run("gate")
    assert racked.config_file.read_text() == racked.config + "broker.rack=zone-4\n"
    racked.annotate("rack", "-")
    racked.run("gate")
    assert racked.config_file.read_text() == racked.config


def test_the_gate_waits_for_the_configuration_that_its_pod_was_made_for(pod: GuardPod) -> None:
    first_start(pod)
    pod.write_ledger(Identity(CLUSTER_ID, 1, PLANNED, "nonce-1"))
    (pod.home / "config" / "server.properties").write_text("an older one\n")
    gate = pod.begin("gate")
    assert gate.stdout is not None
    assert gate.stdout.readline().startswith("waiting: AwaitingConfig: configuration ")
    (pod.home / "config" / "server.properties").write_text(pod.config)
    assert pod.finish(gate).config_hash == pod.environment["CONFIG_HASH"]


def test_a_manifest_that_is_not_ours_ends_with_the_name_of_what_lacks(pod: GuardPod) -> None:
    process = pod.begin("gate", CLUSTER_ID="")
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (2, "storage-guard: CLUSTER_ID is not set\n")


def test_a_report_is_printed_also_where_no_termination_message_can_be_written(pod: GuardPod) -> None:
    process: subprocess.Popen[str] = pod.begin("inspect", TERMINATION_LOG=str(pod.home / "no" / "where"))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert Report.from_json(out).seen() == Seen(DiskVerdict.EMPTY)
    assert "cannot write" in err


@pytest.mark.parametrize("content", [b"", b"\xff\xfe"])
def test_a_pod_that_cannot_tell_its_uid_is_held_with_a_reason(pod: GuardPod, content: bytes) -> None:
    (pod.home / "pod" / "uid").write_bytes(content)
    report = pod.run("inspect")
    assert (report.verdict, report.reason, report.pod_uid) == (DiskVerdict.UNREADABLE, "CannotRead", "unknown")
    for step in ("gate", "seal"):
        assert pod.waiting_line(step).startswith("waiting: CannotRead: ")
