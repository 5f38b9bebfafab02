"""A newer operator restarts nobody: what a pod is made of has the same name as before, for as long as the resource uses
none of the fields that came later.

These names were recorded before `pod.env` and its neighbours existed. Another one here restarts every pod of every
cluster when its operator is upgraded: that is never a side effect, and `pytest --rewrite` does not touch it.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kraft_operator.api.formed import formed_with
from kraft_operator.api.parse import read_cluster
from kraft_operator.manifests.nodes import template_of
from support.kubernetes.rendering import CLUSTER_ID, GOLDEN, IMAGES, cluster_objects, desired_nodes, render_golden

pytestmark = pytest.mark.unit

RECORDED = {
    "everything-cold-150": "729fe75f1356",
    "everything-cold-151": "ebf8753ca6ca",
    "everything-controller-10": "a2a682dd94dd",
    "everything-hot-100": "5d85c8a5b9de",
    "quickstart-controller-0": "9e3f47e51b8a",
    "quickstart-controller-1": "9d70ebb9a3bf",
    "quickstart-controller-2": "2c8f2c275ce7",
    "quickstart-main-100": "726f5a76470a",
    "quickstart-main-101": "56db2e4af970",
    "quickstart-main-102": "fdb6c4934064",
    "single-controller-0": "e3a6c30cb1da",
    "single-main-100": "0bd28acf9507",
}


def templates(folder: str) -> dict[str, str]:
    sets = [each for each in render_golden(GOLDEN / folder / "spec.yaml") if each["kind"] == "StatefulSet"]
    return {each["metadata"]["name"]: template_of(each) for each in sets}


@pytest.mark.parametrize("folder", ["quickstart", "single", "everything"])
def test_pods_of_resources_that_are_older_than_the_fields_keep_their_name(folder: str) -> None:
    found = templates(folder)
    assert found == {name: RECORDED[name] for name in found}
    assert found


EVERY_FIELD = yaml.safe_load((GOLDEN / "production" / "spec.yaml").read_text())["spec"]["brokerPools"][0]["pod"]


@pytest.mark.parametrize("field", [*EVERY_FIELD, "terminationGracePeriodSeconds"])
def test_each_field_of_a_pod_is_a_new_revision_of_its_group_and_of_no_other(field: str) -> None:
    """So a change of it reaches the pods as every change of a template does: by plan, one at a time."""
    needed = {"volumeMounts": ("volumes",), "sidecars": ("volumes",)}.get(field, ())
    without, with_it = {key: EVERY_FIELD[key] for key in needed}, {field: EVERY_FIELD.get(field, 17)}

    def revisions(pod: dict[str, Any]) -> dict[str, str]:
        resource = yaml.safe_load((GOLDEN / "single" / "spec.yaml").read_text())
        resource["metadata"].update(namespace="kafka", uid="u", generation=1)
        resource["spec"]["brokerPools"][0]["pod"] = pod
        cluster = formed_with(read_cluster(resource), "")
        objects = cluster_objects(cluster, CLUSTER_ID, desired_nodes(cluster), IMAGES)
        return {
            each["metadata"]["name"]: each["metadata"]["annotations"]["kraft.quorate.dev/revision"]
            for each in objects
            if each["kind"] == "StatefulSet"
        }

    before, after = revisions(without), revisions({**without, **with_it})
    assert [name for name in before if before[name] != after[name]] == ["single-main-100"]
