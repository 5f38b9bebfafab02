"""`kubectl kraft convert strimzi`: what comes out is a cluster that this operator understands, and whatever has no
place in it is named.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.roles import COMBINED
from kraft_operator.plugin import convert as plugin
from kraft_operator.plugin.main import main
from kraft_operator.plugin.strimzi import WHY, convert, told
from kraft_operator.plugin.strimzi_parts import NotConvertible
from kraft_operator.plugin.taking import Taken

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).parents[2] / "golden" / "strimzi"
DOCUMENTS = plugin.read([FOLDER / "kafka.yaml"])


def kafka(documents: list[dict[str, Any]]) -> dict[str, Any]:
    return next(each for each in documents if each["kind"] == "Kafka")


def test_the_file_becomes_its_golden_resource(rewrite: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "strimzi", str(FOLDER / "kafka.yaml")]) == 0
    found = capsys.readouterr().out
    golden = FOLDER / "converted.yaml"
    if rewrite:
        golden.write_text(found)
    assert found == golden.read_text()


def test_the_result_is_understood_and_has_the_nodes_that_were_asked_for() -> None:
    resource = yaml.safe_load((FOLDER / "converted.yaml").read_text())
    resource["metadata"].update(uid="u", generation=1)
    spec = parse_cluster(resource).spec
    assert [(group.name, group.replicas) for group in spec.groups] == [("controller", 3), ("brokershot", 3)]
    assert spec.security.required


def test_keys_that_a_secure_cluster_owns_are_left_out_of_one_and_named() -> None:
    documents = copy.deepcopy(DOCUMENTS)
    spec = kafka(documents)["spec"]["kafka"]
    spec["config"] = {"ssl.client.auth": "none", "sasl.enabled.mechanisms": "PLAIN", "ssl.protocol": "TLSv1.3"}
    made = convert(documents)
    assert made.resource["spec"]["config"]["common"] == {"ssl.protocol": "TLSv1.3"}
    named = [path for path, why in made.left_out if "use spec.security" in why]
    assert named == [f"Kafka spec.kafka.config[{key}]" for key in ("ssl.client.auth", "sasl.enabled.mechanisms")]
    spec["listeners"] = [{"name": "plain", "port": 9092, "type": "internal", "tls": False}]
    assert convert(documents).resource["spec"]["config"]["common"] == spec["config"]


def leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [each for key, inner in value.items() for each in leaves(inner, f"{path}.{key}")]
    return [(path, value)]


@pytest.mark.parametrize("path", [path for path, _ in leaves(kafka(DOCUMENTS)["spec"])])
def test_no_field_is_lost_without_a_word(path: str) -> None:
    """Whatever is taken out of the Kafka changes the result or the list: nothing was ignored in silence."""
    without = copy.deepcopy(DOCUMENTS)
    target: Any = kafka(without)["spec"]
    whole_field = next((begin for begin in WHY if f"spec{path}".startswith(begin)), f"spec{path}")
    *parents, last = _keys(whole_field.removeprefix("spec"), target)
    for key in parents:
        target = target[key]
    del target[last]
    try:
        changed = convert(without)
    except NotConvertible:
        return
    whole = convert(DOCUMENTS)
    assert (changed.resource, list(told(changed))) != (whole.resource, list(told(whole)))


def _keys(path: str, value: Any) -> list[str]:
    """Of a dotted path, whose keys may have dots themselves."""
    if not path:
        return []
    for key in value if isinstance(value, dict) else ():
        if path == f".{key}" or path.startswith(f".{key}."):
            return [key, *_keys(path[len(key) + 1 :], value[key])]
    raise AssertionError(path)


def test_a_listener_that_asked_who_connects_asks_here_too() -> None:
    """Letting everybody in would be another cluster."""
    made = convert(DOCUMENTS).resource["spec"]["endpoints"]["broker"]
    asked = {each["name"]: each.get("authentication", {}).get("type") for each in made}
    assert asked == {"REPLICATION": None, "PLAIN": "None", "TLS": "Scram", "EXTERNAL": "Tls", "EDGE": "OAuth"}


OAUTH = next(each for each in kafka(DOCUMENTS)["spec"]["kafka"]["listeners"] if each["name"] == "edge")[
    "authentication"
]


@pytest.mark.parametrize(
    ("changes", "told_of"),
    [
        ({"jwksEndpointUri": None, "introspectionEndpointUri": "https://id.example.com/i"}, "introspection"),
        ({"jwksEndpointUri": "http://id.example.com/keys"}, "https jwksEndpointUri"),
        ({"validIssuerUri": None}, "validIssuerUri"),
        ({"clientId": None}, "audience of tokens"),
        ({"userNameClaim": "['user.info'].['user.id']"}, "userNameClaim"),
        ({"customClaimCheck": "@.admin == true"}, "customClaimCheck"),
    ],
)
def test_tokens_that_would_be_judged_otherwise_are_not_taken(changes: dict[str, Any], told_of: str) -> None:
    made = convert(_edge({"authentication": {**OAUTH, **changes}}))
    assert made.resource["spec"]["endpoints"]["broker"][-1]["authentication"] == {
        "type": "Scram", "sessionLifetime": "3600s",
    }  # fmt: skip
    assert [why for path, why in made.left_out if path.endswith("[edge].authentication") and told_of in why]


@pytest.mark.parametrize("hosts", [{}, {"hostTemplate": "{podName}.a"}, {"hostTemplate": "a-{nodeId}.{strange}.a"}])
def test_an_ingress_whose_names_cannot_be_known_is_left_out_and_named(hosts: dict[str, str]) -> None:
    made = convert(_edge({"configuration": {"bootstrap": {"host": "a.b"}, **hosts}}))
    assert [each["name"] for each in made.resource["spec"]["endpoints"]["broker"]][-1] == "EXTERNAL"
    assert [why for path, why in made.left_out if path.endswith("[edge]") and "hostTemplate" in why]


def _edge(changes: dict[str, Any]) -> list[dict[str, Any]]:
    other = copy.deepcopy(DOCUMENTS)
    listeners = kafka(other)["spec"]["kafka"]["listeners"]
    listeners[-1] = {**listeners[-1], **changes}
    return other


def test_without_tls_anywhere_the_cluster_is_plaintext() -> None:
    plain = copy.deepcopy(DOCUMENTS)
    kafka(plain)["spec"]["kafka"]["listeners"] = [{"name": "plain", "port": 9092, "type": "internal", "tls": False}]
    spec = convert(plain).resource["spec"]
    assert spec["security"] == {"tls": {"mode": "Disabled"}}, "a new cluster is secure unless it says so"
    assert [each["name"] for each in spec["endpoints"]["broker"]] == ["REPLICATION", "PLAIN"]


@pytest.mark.parametrize(
    ("documents", "remedy"),
    [
        ([], "give the file of one Kafka"),
        ([each for each in DOCUMENTS if each["kind"] == "Kafka"], "give the KafkaNodePools of shop"),
        ([each for each in DOCUMENTS if each["kind"] != "Kafka"], "give the file of one Kafka"),
        ([*DOCUMENTS, kafka(DOCUMENTS)], "there are 2"),
    ],
)
def test_what_is_missing_is_asked_for(documents: list[dict[str, Any]], remedy: str) -> None:
    with pytest.raises(NotConvertible, match=remedy):
        convert(documents)


@pytest.mark.parametrize(
    "text",
    ["- 1\n", "a: [\n", "kind: Kafka\n", "kind: Kafka\nmetadata: {name: x}\nspec: 7\n", "kind: List\nitems: [1]\n"],
)
def test_a_file_of_something_else_is_refused_and_nothing_is_written(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "strange.yaml"
    file.write_text(text)
    assert main(["convert", "strimzi", str(file)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("correct the files, nothing was converted: ")


def test_what_was_taken_is_not_left_and_empty_objects_go_with_it() -> None:
    taken = Taken({"a": {"b": {"c": 1}}, "d": 2}, "spec")
    assert (taken.take("a.b.c"), taken.take("a.b.c"), taken.take("d.e")) == (1, None, None)
    assert list(taken.left()) == [("spec.d", 2)]
    assert taken.take("d") == 2
    assert list(taken.left()) == []


def small(replicas: int, *more: dict[str, Any]) -> list[dict[str, Any]]:
    """One pool whose nodes are both, and these beside it."""
    storage = {"type": "persistent-claim", "size": "1Gi"}
    spec = {"replicas": replicas, "roles": ["controller", "broker"], "storage": storage}
    pools = [{"kind": "KafkaNodePool", "metadata": {"name": "dual"}, "spec": spec}, *more]
    return [kafka(copy.deepcopy(DOCUMENTS)), *pools]


def test_a_pool_of_nodes_that_are_both_becomes_combined() -> None:
    made = convert(small(3))
    assert made.resource["spec"]["controllers"]["role"] == "Combined"
    made.resource["metadata"].update(namespace="n", uid="u", generation=1)
    (group,) = parse_cluster(made.resource).spec.groups
    assert (group.roles, group.replicas) == (COMBINED, 3)


def test_what_combined_nodes_cannot_be_becomes_separate_nodes_and_is_told() -> None:
    more = {
        "kind": "KafkaNodePool", "metadata": {"name": "more"},
        "spec": {"replicas": 2, "roles": ["broker"], "storage": {"type": "persistent-claim", "size": "1Gi"}},
    }  # fmt: skip
    for documents in (small(5), small(3, more)):
        made = convert(documents)
        assert "role" not in made.resource["spec"]["controllers"]
        assert made.resource["spec"]["brokerPools"]
        assert any("nodes of their own here" in each for each in made.changed)
