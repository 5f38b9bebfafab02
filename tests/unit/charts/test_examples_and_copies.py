"""The examples are right, the copies of the resource definition are copies, and the operator asks for no right by
wildcard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kraft_operator.api import config_keys
from kraft_operator.api.parse import parse_cluster
from support.kubernetes.rendering import render_file

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parent.parent.parent.parent
CRD = ROOT / "crds" / "kraftclusters.yaml"
COPIES = ("charts/kraft-operator/files/kraftclusters.yaml", "deploy/kustomize/base/kraftclusters.yaml")
EXAMPLES = sorted((ROOT / "deploy" / "examples").glob("*.yaml"))


@pytest.mark.parametrize("name", ["kraftoperations", "kraftusers"])
@pytest.mark.parametrize("folder", ["charts/kraft-operator/files", "deploy/kustomize/base"])
def test_a_copy_of_another_definition_is_a_copy(folder: str, name: str) -> None:
    original = ROOT / "crds" / f"{name}.yaml"
    assert (ROOT / folder / original.name).read_text() == original.read_text(), f"run: cp crds/{original.name} {folder}"


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_the_resource_definition_is_a_copy(copy: str) -> None:
    assert (ROOT / copy).read_text() == CRD.read_text(), f"run: cp crds/kraftclusters.yaml {copy}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_parses_and_renders(example: Path) -> None:
    resource = yaml.safe_load(example.read_text())
    resource["metadata"].update(namespace="any", uid="u", generation=1)
    cluster = parse_cluster(resource)
    sets = [each for each in render_file(example) if each["kind"] == "StatefulSet"]
    assert len(sets) == sum(group.replicas for group in cluster.spec.groups)


def test_the_schema_of_values_knows_every_value_and_no_other() -> None:
    schema = json.loads((ROOT / "charts/kraft-operator/values.schema.json").read_text())
    values = yaml.safe_load((ROOT / "charts/kraft-operator/values.yaml").read_text())
    assert set(values) == set(schema["properties"]) - {"global"}
    for name, part in objects(schema, "values"):
        if "properties" in part:
            assert part["additionalProperties"] is False, name


def test_the_rules_of_the_schema_and_the_operator_own_the_same_configuration_keys() -> None:
    definition = CRD.read_text()
    for key, instead in config_keys.OWNED.items():
        assert f'"!(\'{key}\' in self)", message: "{key} belongs to the operator: {instead}"' in definition
    assert definition.count("belongs to the operator: ") == len(config_keys.OWNED)


@pytest.mark.parametrize(
    "path",
    ["charts/kraft-operator/templates/_helpers.tpl", "charts/kraft-operator/templates/rbac.yaml",
     "deploy/kustomize/base/rbac.yaml", "deploy/kustomize/overlays/namespaced/role.yaml"],
)  # fmt: skip
def test_no_right_is_a_wildcard_or_lists_secrets(path: str) -> None:
    """OPS-15: of Secrets the operator reads those whose name it knows. No right can be given by part of a name, so the
    verbs are the fence: who may neither list nor watch finds none that it does not know.
    """
    keys = ("verbs:", "resources:", "apiGroups:", "nonResourceURLs:", "resourceNames:")
    rules = [line for line in (ROOT / path).read_text().splitlines() if any(key in line for key in keys)]
    assert rules
    assert not [line for line in rules if "*" in line]
    about = [at for at, line in enumerate(rules) if "secrets" in line]
    assert [rules[at].strip() for at in about] in ([], ["resources: [secrets]"])
    assert [rules[at + 1].strip() for at in about] in ([], ["verbs: [get, create, update, patch]"])


def test_a_busy_machine_ends_no_operator_and_what_ended_one_is_told_in_its_pod() -> None:
    deployment = yaml.safe_load((ROOT / "deploy/kustomize/base/deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["livenessProbe"]["timeoutSeconds"] * container["livenessProbe"]["failureThreshold"] >= 30
    assert container["readinessProbe"]["timeoutSeconds"] > 1, (
        "one second, the default, is short where everything starts at once"
    )
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_an_operator_of_chosen_namespaces_has_there_what_the_base_gives_everywhere_and_the_rest_cluster_wide() -> None:
    folder = ROOT / "deploy" / "kustomize"
    base = next(
        each["rules"]
        for each in yaml.safe_load_all((folder / "base" / "rbac.yaml").read_text())
        if (each["kind"], each["metadata"]["name"]) == ("ClusterRole", "kraft-operator")
    )
    overlay = yaml.safe_load((folder / "overlays" / "namespaced" / "kustomization.yaml").read_text())
    patch = next(each["patch"] for each in overlay["patches"] if each["target"]["kind"] == "ClusterRole")
    roles = yaml.safe_load_all((folder / "overlays" / "namespaced" / "role.yaml").read_text())
    moved = [rule for each in roles if each["kind"] == "Role" for rule in each["rules"]]
    left = list(base)
    for change in yaml.safe_load(patch):
        assert change["op"] == "remove"
        del left[int(change["path"].removeprefix("/rules/"))]
    assert [*left, *moved] == base


def objects(part: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(part, dict):
        yield name, part
        for key, value in part.items():
            yield from objects(value, f"{name}.{key}")
