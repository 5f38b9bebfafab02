"""`kubectl kraft convert strimzi --take-over`: what runs goes on with its ids, its listeners and its volumes, what
cannot be taken over is refused by name, and what only the running cluster knows is named with the command for it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kraft_operator.api import names
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.roles import COMBINED
from kraft_operator.api.spec import BootstrapPolicy, KRaftCluster, LostDisk, VolumePolicy
from kraft_operator.plugin.main import main

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).parents[2] / "golden" / "strimzi"
FILE = FOLDER / "running.yaml"
DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"
Documents = list[dict[str, Any]]
Tell = pytest.CaptureFixture[str]


def documents() -> Documents:
    kafka, rest = yaml.safe_load_all(FILE.read_text())
    return [copy.deepcopy(each) for each in (kafka, *rest["items"])]


def one(found: Documents, kind: str, name: str) -> dict[str, Any]:
    return next(each for each in found if (each["kind"], each["metadata"]["name"]) == (kind, name))


def taken(folder: Path, capsys: Tell, found: Documents, *more: str) -> tuple[KRaftCluster, Documents, str]:
    """The resource, the claims, and what is said among the comments."""
    file = folder / "old.yaml"
    file.write_text(yaml.safe_dump_all(found))
    assert main(["convert", "strimzi", "--take-over", "c", *more, str(file)]) == 0
    text = capsys.readouterr().out
    *claims, resource = yaml.safe_load_all(text)
    resource["metadata"].update(uid="u", generation=1)
    return parse_cluster(resource), claims, text


def refused(folder: Path, capsys: Tell, found: Documents, *more: str, name: str = "c") -> str:
    file = folder / "old.yaml"
    file.write_text(yaml.safe_dump_all(found))
    assert main(["convert", "strimzi", "--take-over", name, *more, str(file)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.removeprefix("correct the files, nothing was converted: ").strip()


def test_what_runs_becomes_its_golden_resource_and_claims(rewrite: bool, capsys: Tell) -> None:
    assert main(["convert", "strimzi", "--take-over", "c", "--directory-id", DIRECTORY, str(FILE)]) == 0
    found, golden = capsys.readouterr().out, FOLDER / "taken-over.yaml"
    if rewrite:
        golden.write_text(found)
    assert found == golden.read_text()


def test_ids_listeners_and_the_cluster_stay_and_nothing_is_formed_replaced_or_deleted(
    tmp_path: Path, capsys: Tell
) -> None:
    cluster, _, _ = taken(tmp_path, capsys, documents())
    spec = cluster.spec
    assert {group.name: group.node_ids for group in spec.groups} == {"controller": (3, 4, 5), "brokershot": (0, 2)}
    assert spec.cluster_id == "8cFkZ0GmQ1mM2n3o4p5q6w"
    served = [(each.name, each.port, each.tls) for each in (*spec.controller_listeners, *spec.broker_listeners)]
    assert served == [
        ("CONTROLPLANE-9090", 9090, True), ("REPLICATION-9091", 9091, True), ("PLAIN-9092", 9092, False),
        ("TLS-9093", 9093, True), ("EXTERNAL1-9094", 9094, True),
    ]  # fmt: skip
    assert spec.bootstrap_policy is BootstrapPolicy.ADOPT_ONLY
    assert (spec.recovery.lost_disk, spec.volume_policy) == (LostDisk.REPORT, VolumePolicy.RETAIN)
    assert spec.security.super_users == ("User:CN=shop-kafka,O=io.strimzi", "User:CN=admin")


def test_every_node_has_a_claim_for_the_volume_that_its_old_one_has(tmp_path: Path, capsys: Tell) -> None:
    cluster, claims, _ = taken(tmp_path, capsys, documents())
    own = {
        names.claim_name("c", group.name, node_id): str(node_id) for group in cluster.spec.groups
        for node_id in group.node_ids
    }  # fmt: skip
    assert {each["metadata"]["name"]: each["metadata"]["labels"][names.LABEL_NODE_ID] for each in claims} == own
    volumes = {each["metadata"]["name"]: each["spec"]["volumeName"] for each in claims}
    assert volumes["data-c-controller-3-0"] == "pv-c3"
    assert volumes["data-c-brokershot-2-0"] == "pv-b2"
    assert {each["spec"]["storageClassName"] for each in claims} == {"slow", "fast"}


def test_only_the_first_controllers_claim_says_whose_disk_it_is_and_only_if_that_is_known(
    tmp_path: Path, capsys: Tell
) -> None:
    _, claims, told = taken(tmp_path, capsys, documents(), "--directory-id", DIRECTORY)
    marks = {each["metadata"]["name"]: each["metadata"].get("annotations") for each in claims}
    assert marks.pop("data-c-controller-3-0") == {
        "kraft.quorate.dev/cluster-id": "8cFkZ0GmQ1mM2n3o4p5q6w", "kraft.quorate.dev/node-id": "3",
        "kraft.quorate.dev/directory-id": DIRECTORY,
    }  # fmt: skip
    assert set(marks.values()) == {None}
    assert "meta.properties" not in told
    _, claims, told = taken(tmp_path, capsys, documents())
    assert not any("annotations" in each["metadata"] for each in claims)
    where = "/var/lib/kafka/data-1/kafka-log3/meta.properties"
    assert f"#   kubectl -n kafka exec shop-ctl-3 -c kafka -- grep directory.id {where}" in told


def test_the_last_controller_comes_after_the_brokers(tmp_path: Path, capsys: Tell) -> None:
    _, _, told = taken(tmp_path, capsys, documents())
    lines = [line.split()[2] for line in told.splitlines() if line.startswith("#   node ")]
    assert lines == ["3:", "4:", "0:", "2:", "5:"]


def test_without_authorization_what_no_acl_is_about_stays_allowed(tmp_path: Path, capsys: Tell) -> None:
    found = documents()
    del one(found, "Kafka", "shop")["spec"]["kafka"]["authorization"]
    cluster, _, told = taken(tmp_path, capsys, found)
    resource = list(yaml.safe_load_all(told))[-1]
    assert resource["spec"]["security"]["authorization"]["mode"] == "Transition"
    assert cluster.spec.security.super_users == ("User:CN=shop-kafka,O=io.strimzi",)
    assert "CN=c-operator" not in told


def kafka(**changes: Any) -> Callable[[Documents], None]:
    return lambda found: one(found, "Kafka", "shop")["spec"]["kafka"].update(changes)


def pool(name: str, **changes: Any) -> Callable[[Documents], None]:
    return lambda found: one(found, "KafkaNodePool", name)["spec"].update(changes)


def status(kind: str, name: str, **changes: Any) -> Callable[[Documents], None]:
    return lambda found: one(found, kind, name).update(status=changes)


def bound(name: str, **changes: Any) -> Callable[[Documents], None]:
    return lambda found: one(found, "PersistentVolumeClaim", name)["spec"].update(changes)


ALONE = {"type": "persistent-claim", "size": "1Gi"}
SEVERAL = {
    "type": "jbod",
    "volumes": [{**ALONE, "id": 0}, {**ALONE, "id": 3}, {**ALONE, "id": 2, "kraftMetadata": "shared"}],
}


def test_every_volume_of_a_broker_has_its_claim_and_the_first_one_is_that_of_the_metadata_log(
    tmp_path: Path, capsys: Tell
) -> None:
    found = documents()
    pool("brokers-hot", storage=SEVERAL)(found)
    for number in (0, 2, 3):
        for node_id in (0, 2):
            claim = copy.deepcopy(one(found, "PersistentVolumeClaim", f"data-shop-brokers-hot-{node_id}"))
            claim["metadata"]["name"] = f"data-{number}-shop-brokers-hot-{node_id}"
            claim["spec"]["volumeName"] = f"pv-{number}-of-{node_id}"
            found.append(claim)
    cluster, claims, told = taken(tmp_path, capsys, found)
    assert list(cluster.spec.broker_pools[0].volumes) == ["v0", "v3"]
    bound = {each["metadata"]["name"]: each for each in claims if each["metadata"]["name"].endswith("brokershot-2-0")}
    assert {name: each["spec"]["volumeName"] for name, each in bound.items()} == {
        "data-c-brokershot-2-0": "pv-2-of-2", "data-v0-c-brokershot-2-0": "pv-0-of-2",
        "data-v3-c-brokershot-2-0": "pv-3-of-2",
    }  # fmt: skip
    labels = {name: each["metadata"]["labels"].get(names.LABEL_VOLUME) for name, each in bound.items()}
    assert list(labels.values()) == [None, "v0", "v3"]
    where = "claim data-3-shop-brokers-hot-2, /var/lib/kafka/data-3/kafka-log2; volume pv-3-of-2"
    assert f"#   node 2: pod shop-brokers-hot-2, {where} for claim data-v3-c-brokershot-2-0" in told


def dual(found: Documents) -> None:
    """No pool but that of the controllers, which are brokers, too."""
    found.remove(one(found, "KafkaNodePool", "brokers-hot"))
    pool("ctl", roles=["controller", "broker"])(found)


def test_nodes_of_both_roles_go_on_as_combined_nodes(tmp_path: Path, capsys: Tell) -> None:
    found = documents()
    dual(found)
    cluster, claims, told = taken(tmp_path, capsys, found)
    (group,) = cluster.spec.groups
    assert (group.roles, group.node_ids) == (COMBINED, (3, 4, 5))
    assert [each["metadata"]["name"] for each in claims] == [f"data-c-controller-{each}-0" for each in (3, 4, 5)]
    assert {each["metadata"]["labels"][names.LABEL_ROLE] for each in claims} == {COMBINED.label}
    assert [line.split()[2] for line in told.splitlines() if line.startswith("#   node ")] == ["3:", "4:", "5:"]


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (status("Kafka", "shop"), "kubectl -n kafka get kafkas.kafka.strimzi.io shop -o yaml"),
        (status("KafkaNodePool", "ctl"), "kubectl get kafkanodepool ctl -o yaml"),
        (pool("ctl", replicas=5), "wait until Strimzi has scaled ctl: it asks for 5 nodes, and has 3"),
        (bound("data-1-shop-ctl-4", volumeName=None), "give the claim data-1-shop-ctl-4, bound, .*get pvc -l"),
        (pool("ctl", storage={"type": "ephemeral"}), "move ctl to storage of type persistent-claim first"),
        (pool("ctl", storage=SEVERAL), "move ctl to one volume first"),
        (pool("ctl", roles=["controller", "broker"]), "split the roles of ctl first: .* nobody is beside them"),
        (pool("ctl", roles=["broker"]), "none with the role controller is there"),
        (pool("brokers-hot", roles=["controller"]), "scale brokers-hot to 1, 3, 5 or 7 controllers first: it has 2"),
        (status("KafkaNodePool", "ctl", nodeIds=[3, 4, 6]), "ids without gaps first: they are 3, 4, 6"),
        (status("KafkaNodePool", "brokers-hot", nodeIds=[0, 4]), "lie among one another"),
        (kafka(authorization={"type": "opa"}), "take authorization of type opa out first"),
    ],
)
def test_what_cannot_be_known_or_taken_over_is_refused_with_the_remedy(
    change: Callable[[Documents], None], remedy: str, tmp_path: Path, capsys: Tell
) -> None:
    found = documents()
    change(found)
    assert re.search(remedy, refused(tmp_path, capsys, found))


def test_names_and_ids_that_cannot_be_are_refused(tmp_path: Path, capsys: Tell) -> None:
    assert refused(tmp_path, capsys, documents(), name="shop").startswith("choose another name than shop")
    assert "22 characters: 'x' is none" in refused(tmp_path, capsys, documents(), "--directory-id", "x")
    assert main(["convert", "strimzi", "--directory-id", DIRECTORY, str(FILE)]) == 1
    assert "say --take-over NAME, too" in capsys.readouterr().err
