"""The guards of a broker with two further volumes, as processes, around the tool that formats all of them at once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from storage_guard.formats import DiskVerdict, Grant, GrantMode, Identity, Marker, MarkerState, Report, of_volume
from support.kubernetes.guard_pod import CLUSTER_ID, ROOT, GuardPod

pytestmark = pytest.mark.integration

VOLUMES = ("one", "two")


@dataclass(frozen=True)
class BrokerPod(GuardPod):
    """A broker's pod: further volumes lie beside the first."""

    @property
    def config(self) -> str:
        return (
            f"process.roles=broker\nnode.id={self.node_id}\nlog.dirs={','.join(map(str, self.logs))}\n"
            "listeners=PLAINTEXT://127.0.0.1:9092\ncontroller.listener.names=CONTROLLER\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
        )

    @property
    def logs(self) -> list[Path]:
        return [self.log, *(self.further(name) for name in VOLUMES)]

    def further(self, name: str) -> Path:
        return self.volume.parent / f"{self.volume.name}-{name}" / "log"

    @property
    def environment(self) -> dict[str, str]:
        found = ",".join(f"{name}={self.further(name)}" for name in VOLUMES)
        return {**super().environment, "FURTHER_DIRECTORIES": found}

    def grant_volumes(self, report: Report, *names: str) -> None:
        """The operator's answers, for the first volume ("") and further ones."""
        for name in names:
            seen = report.volumes[name] if name else report
            grant = Grant(
                "pod-1", f"pvc-{name}", f"pv-{name}", 1, CLUSTER_ID, GrantMode.BROKER, f"n-{name}", seen.seen()
            )
            self.annotate(of_volume("grant", name), grant.to_json())

    def know(self, report: Report) -> None:
        """The ledger learns what the seal has seen."""
        for name, seen in {"": report, **report.volumes}.items():
            assert seen.directory_id is not None
            text = Identity(CLUSTER_ID, 1, seen.directory_id, nonce=seen.nonce).to_json()
            (self.home / "ledger" / f"{of_volume('identity', name)}.json").write_text(text)

    def format(self) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "controller_runtime.cli.main", "storage", "format", "--ignore-formatted"]
        whole = [*command, "--cluster-id", CLUSTER_ID, "--config", str(self.config_file)]
        return subprocess.run(whole, check=True, cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.fixture
def pod(tmp_path: Path) -> BrokerPod:
    made = BrokerPod(tmp_path / "pod", tmp_path / "volume", role="broker")
    for log in made.logs[1:]:
        log.parent.mkdir()
    return made


def first_start(pod: BrokerPod) -> Report:
    pod.grant_volumes(pod.run("inspect"), "", *VOLUMES)
    pod.run("gate")
    pod.format()
    sealed = pod.run("seal")
    pod.know(sealed)
    return sealed


def test_every_volume_is_formatted_once_and_has_a_directory_of_its_own(pod: BrokerPod) -> None:
    seen = pod.run("inspect")
    assert {name: each.verdict for name, each in seen.volumes.items()} == dict.fromkeys(VOLUMES, DiskVerdict.EMPTY)
    sealed = first_start(pod)
    ids = {each.directory_id for each in (sealed, *sealed.volumes.values())}
    assert len(ids) == 3
    again = pod.run("inspect")
    assert [each.reason for each in (again, *again.volumes.values())] == ["Known"] * 3
    (pod.home / "pod" / "grant").unlink()
    passed = pod.run("gate")
    assert [each.reason for each in (passed, *passed.volumes.values())] == ["Start"] * 3


def test_nothing_is_written_while_one_volume_has_no_grant(pod: BrokerPod) -> None:
    pod.grant_volumes(pod.run("inspect"), "", "one")
    waiting = pod.waiting_line("gate")
    assert "AwaitingGrant: volume two: the volume is empty" in waiting
    assert not list(pod.volume.parent.glob("**/storage-identity.json"))


def test_an_emptied_volume_is_refused_and_the_others_stay_as_they_are(pod: BrokerPod) -> None:
    first_start(pod)
    for each in sorted(pod.further("two").parent.glob("**/*"), reverse=True):
        each.unlink() if each.is_file() else each.rmdir()
    seen = pod.run("inspect")
    assert (seen.verdict, seen.volumes["one"].verdict) == (DiskVerdict.FORMATTED, DiskVerdict.FORMATTED)
    assert (seen.volumes["two"].verdict, seen.volumes["two"].reason) == (DiskVerdict.EMPTY, "DiskLost")
    for name in VOLUMES:
        (pod.home / "pod" / f"grant-{name}").unlink()
    assert "FormatRefused: volume two" in pod.waiting_line("gate")


def test_an_added_volume_alone_is_formatted(pod: BrokerPod) -> None:
    before = first_start(pod)
    two = pod.further("two")
    for each in sorted(two.parent.glob("**/*"), reverse=True):
        each.unlink() if each.is_file() else each.rmdir()
    (pod.home / "ledger" / "identity-two.json").unlink()
    (pod.home / "journal" / "journal-two.json").unlink()
    pod.grant_volumes(pod.run("inspect"), "two")
    passed = pod.run("gate")
    assert {name: each.reason for name, each in passed.volumes.items()} == {"one": "Start", "two": "Format"}
    pod.format()
    sealed = pod.run("seal")
    assert sealed.directory_id == before.directory_id
    assert sealed.volumes["one"].directory_id == before.volumes["one"].directory_id
    assert sealed.volumes["two"].directory_id not in {None, before.volumes["two"].directory_id}


def test_a_report_about_seven_hostile_volumes_is_one_termination_message() -> None:
    bad = Report.from_json(
        '{"version":1,"step":"inspect","verdict":"Foreign","reason":"DirectoryOfAnother","message":"'
        + "€" * 2000 + '","podUID":"' + "u" * 36 + '","nodeID":100,"clusterID":"' + "c" * 4000
        + '","diskNodeID":2147483647,"directoryID":"' + "d" * 4000 + '","nonce":"' + "n" * 4000 + '"}'
    )  # fmt: skip
    whole = Report(
        bad.step, bad.verdict, bad.reason, bad.message, bad.pod_uid, 100, "c" * 999, 1, "d" * 999, 1, 1, "n" * 999,
        "h" * 16, {f"volume{number}abc"[:10]: bad for number in range(7)},
    )  # fmt: skip
    text = whole.to_json()
    assert len(text.encode()) <= 4096
    assert len(Report.from_json(text).volumes) == 7


def test_the_marker_of_a_further_volume_says_who_formatted_it(pod: BrokerPod) -> None:
    sealed = first_start(pod)
    marker = Marker.from_json((pod.further("one").parent / "storage-identity.json").read_text())
    assert (marker.state, marker.directory_id) == (MarkerState.SEALED, sealed.volumes["one"].directory_id)
