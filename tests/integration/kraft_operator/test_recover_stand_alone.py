"""`kubectl kraft recover --stand-alone` over the disks of a real quorum: what it proves, what it says is lost, and that
nothing on them is changed.

The Kubernetes is one of values; what its pods run is the guard itself, on folders that stand for volumes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.storage.filesystem import OsFileSystem
from kraft_operator.kube import CLAIM, POD, Kind
from kraft_operator.plugin.main import parser, run
from kraft_operator.plugin.survey_pods import PATH
from storage_guard.copies import Helper
from storage_guard.helping import help_out
from support.clients.config_load import ConfigLoad
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.integration, pytest.mark.slow]


class Api:
    """Claims that are folders, pods that end as soon as somebody looks at them."""

    def __init__(self, claims: dict[str, Path]) -> None:
        self.claims = claims
        self.pods: dict[str, dict[str, Any]] = {}
        self.made: list[dict[str, Any]] = []
        self.first = len(claims)
        """Pods of the first reading."""
        self.before_second: Callable[[], None] = lambda: None

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[dict[str, Any], ...]:
        assert namespace == "default"
        if kind is CLAIM:
            return tuple({"metadata": {"name": name}} for name in self.claims if selector != "app=none")
        return tuple(each for each in self.pods.values())

    def create(self, kind: Kind, namespace: str | None, body: dict[str, Any]) -> dict[str, Any]:
        assert kind is POD
        name = f"{body['metadata']['generateName']}{len(self.made)}"
        meta = {**body["metadata"], "name": name, "uid": name}
        self.pods[name] = {**body, "metadata": meta}
        self.made.append(self.pods[name])
        return self.pods[name]

    def get(self, kind: Kind, namespace: str | None, name: str) -> dict[str, Any]:
        item = self.pods[name]
        (container,) = item["spec"]["containers"]
        (volume,) = item["spec"]["volumes"]
        folder = self.claims[volume["persistentVolumeClaim"]["claimName"]]
        values = {each["name"]: each["value"].replace(PATH, str(folder), 1) for each in container["env"]}
        if len(self.made) > self.first:
            self.before_second()
        succeeded, line = help_out(OsFileSystem(), Helper(container["command"][1]), values, 0, "")
        ended = {"exitCode": 0 if succeeded else 1, "message": line}
        status = {
            "phase": "Succeeded" if succeeded else "Failed",
            "containerStatuses": [{"name": container["name"], "state": {"terminated": ended}}],
        }
        return {**item, "status": status}

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        del self.pods[name]


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Volumes as another operator lays them out, of three controllers that were killed while they wrote."""
    folder = tmp_path_factory.mktemp("quorum")
    with Cluster(folder, controllers=3) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        with ConfigLoad(cluster.bootstrap_controllers) as load:
            load.wait_for(60)
            for node in cluster.nodes.values():
                node.kill()
        found = {}
        for node_id, node in cluster.nodes.items():
            claim = f"data-0-my-cluster-controller-{node_id}"
            shutil.copytree(node.properties["log.dirs"], folder / "volumes" / claim / f"kafka-log{node_id}")
            found[claim] = folder / "volumes" / claim
        yield found


def state(disks: dict[str, Path]) -> str:
    digest = hashlib.sha256()
    for folder in disks.values():
        for path in sorted(folder.rglob("*")):
            digest.update(f"{path} {path.stat().st_mtime_ns}".encode())
            digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def asked(api: Api, *arguments: str) -> tuple[int, str]:
    told: list[str] = []
    given = parser().parse_args(["recover", "--stand-alone", "--image", "quorate/operator:1", *arguments])
    any_api: Any = api
    code = run(given, any_api, told.append)
    assert api.pods == {}, "pods that were made are gone"
    return code, "\n".join(told)


def of(disks: dict[str, Path], *node_ids: int) -> dict[str, Path]:
    return {claim: folder for claim, folder in disks.items() if int(claim.rpartition("-")[2]) in node_ids}


def claims(disks: dict[str, Path]) -> list[str]:
    return [part for claim in disks for part in ("--claim", claim)]


def test_two_of_three_voters_prove_that_nothing_is_lost_and_no_disk_is_touched(disks: dict[str, Path]) -> None:
    left, before = of(disks, 2, 3), state(disks)
    code, text = asked(Api(left), *claims(left))
    assert code == 0
    assert text.startswith("verdict ProvenComplete"), text
    assert "voter 1 (directory " in text
    assert "<- the best copy" in text
    assert "No ledger was asked" in text
    assert state(disks) == before


def test_one_voter_of_three_proves_nothing(disks: dict[str, Path]) -> None:
    code, text = asked(Api(of(disks, 1)), "-l", "app=kafka", "-o", "json")
    found = json.loads(text)
    assert code == 0
    assert found["verdict"] in {"NoObservedLoss", "Unknown"}
    assert found["seed"] == "data-0-my-cluster-controller-1"
    assert {each["nodeID"] for each in found["missingVoters"]} == {2, 3}


def test_the_older_of_two_copies_of_one_directory_is_no_voter(disks: dict[str, Path], tmp_path: Path) -> None:
    """A restored backup beside the disk itself, which would make a majority of one voter."""
    one = of(disks, 1)
    old = tmp_path / "old"
    shutil.copytree(next(iter(one.values())), old)
    (log,) = (path for path in old.rglob("__cluster_metadata-0/*.log"))
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size // 2)
    both = {**one, "restored": old}
    code, text = asked(Api(both), *claims(both), "-o", "json")
    found = json.loads(text)
    assert code == 0
    assert found["verdict"] in {"NoObservedLoss", "Unknown"}
    assert {each["claim"]: each["voter"] for each in found["copies"]} == {"restored": False, next(iter(one)): True}


def test_a_claim_that_cannot_be_read_or_holds_nothing_counts_as_lost(disks: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "empty" / "lost+found").mkdir(parents=True)
    for name in ("a", "b"):
        shutil.copytree(next(iter(of(disks, 1).values())), tmp_path / "two" / name)
    shutil.copytree(next(iter(of(disks, 1).values())), tmp_path / "broken")
    (meta,) = (tmp_path / "broken").rglob("meta.properties")
    meta.write_text("version=7\n")
    shutil.copytree(next(iter(of(disks, 1).values())), tmp_path / "never-ran")
    (log,) = (tmp_path / "never-ran").rglob("__cluster_metadata-0")
    shutil.rmtree(log)
    node, directory = (
        1,
        next(
            line.removeprefix("directory.id=").strip()
            for line in next((tmp_path / "never-ran").rglob("meta.properties")).read_text().splitlines()
            if line.startswith("directory.id=")
        ),
    )
    found = {
        "never-ran": tmp_path / "never-ran",
        "empty": tmp_path / "empty",
        "two": tmp_path / "two",
        "broken": tmp_path / "broken",
        **of(disks, 2, 3),
    }
    code, text = asked(Api(found), *claims(found))
    assert code == 0
    assert text.startswith("verdict ProvenComplete"), text
    assert "claim empty: it holds no metadata log" in text
    assert f"claim never-ran: formatted for node {node} (directory {directory}), and holds no record: " in text
    assert "claim two: counts as lost: say which log directory: there are " in text
    assert "claim broken: counts as lost: " in text
    code, text = asked(Api(found), "--claim", "two:a/kafka-log1", "--claim", "data-0-my-cluster-controller-2")
    assert (code, text.startswith("verdict ProvenComplete")) == (0, True), text


def test_a_log_that_is_written_to_while_it_is_read_does_not_count(disks: dict[str, Path], tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    shutil.copytree(next(iter(of(disks, 1).values())), alive)
    (log,) = (path for path in alive.rglob("__cluster_metadata-0/*.log"))
    whole = log.read_bytes()
    (other,) = of(disks, 2).items()
    api = Api({"alive": alive, other[0]: other[1]})

    def goes_on() -> None:
        log.write_bytes(whole[: len(whole) * 3 // 4])

    api.before_second = goes_on
    _, text = asked(api, "--claim", "alive", "--claim", other[0])
    assert "claim alive: counts as lost: its log changed between two readings: stop what writes to it" in text
    assert not text.startswith("verdict ProvenComplete"), "one voter of three is left"


def test_static_voters_are_said_by_who_asks(disks: dict[str, Path]) -> None:
    _, text = asked(Api(of(disks, 2)), *claims(of(disks, 2)), "--voters", "1,2,3", "-o", "json")
    assert {each["nodeID"] for each in json.loads(text)["missingVoters"]} == {1, 3}


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ((), "name the claims of the controllers: --claim NAME"),
        (("-l", "app=none"), "name the claims of the controllers"),
        (("--claim", "nowhere"), "name claims of namespace default: it has no nowhere"),
        (("--claim", "c:../../etc"), "give paths below the volume's root, not ../../etc"),
        (("--claim", "c:/etc"), "give paths below the volume's root, not /etc"),
        (("--claim", "c", "--run-as", "0"), "give --run-as another user than 0"),
        (("--claim", "c", "--run-as", "me"), "give --run-as numbers, not me,me"),
        (("--claim", "c", "--voters", "1,x"), "give --voters numbers, not 1,x"),
        (("mine", "--claim", "c"), "leave mine away"),
        (("--claim", "c", "--image", ""), "give --image"),
    ],
)
def test_what_cannot_be_asked_makes_no_pod_and_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], remedy: str
) -> None:
    api = Api({"c": tmp_path})
    assert asked(api, *arguments) == (1, "")
    assert remedy in capsys.readouterr().err
    assert api.made == []


def test_pods_read_as_who_owns_the_files_and_where_the_claim_is_in_use(tmp_path: Path) -> None:
    api = Api({"c": tmp_path})
    api.pods["kafka-0"] = {
        "metadata": {"name": "kafka-0"},
        "spec": {
            "nodeName": "worker-7",
            "securityContext": {"runAsUser": 1001, "fsGroup": 0},
            "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}],
        },
        "status": {"phase": "Running"},
    }
    told: list[str] = []
    any_api: Any = api
    given = parser().parse_args(["recover", "--stand-alone", "--image", "i", "--claim", "c"])
    assert run(given, any_api, told.append) == 0
    (made,) = api.made
    spec = made["spec"]
    assert (spec["securityContext"]["runAsUser"], spec["securityContext"]["runAsGroup"]) == (1001, 0)
    assert "fsGroup" not in spec["securityContext"], "a kubelet would give the files to another group"
    assert spec["volumes"][0]["persistentVolumeClaim"]["readOnly"]
    assert spec["containers"][0]["volumeMounts"][0]["readOnly"]
    assert "worker-7" in json.dumps(spec["affinity"])
    assert told[0].startswith("verdict KnownLoss\n  no copy of the metadata log was found")
    assert set(api.pods) == {"kafka-0"}
