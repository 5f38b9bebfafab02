"""`kubectl explain` has a text everywhere: every field of both resources is described, once and in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "crds").glob("*.yaml"))
KUBERNETES_OWN = {"apiVersion", "kind", "metadata"}


def schema(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def fields(node: dict[str, Any], at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property below, with its path; an array's items count as its own."""
    for name, child in (node.get("properties") or {}).items():
        if at or name not in KUBERNETES_OWN:
            yield f"{at}.{name}", child
            yield from fields(child, f"{at}.{name}")
    for inner in (node.get("items"), node.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from fields(inner, f"{at}[]")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_field_has_a_description(path: Path) -> None:
    found = list(fields(schema(path)))
    assert len(found) > 25
    assert [at for at, each in found if not each.get("description")] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_description_is_a_sentence(path: Path) -> None:
    """Whatever is said more than once by anchors is one text; each begins like a sentence and ends like one."""
    texts = {str(each["description"]) for _, each in fields(schema(path)) if each.get("description")}
    assert [each for each in texts if not each.endswith(".") or not each[:1].isupper()] == []
    assert schema(path)["description"].endswith(".")


def test_the_columns_of_kubectl_get_are_what_a_person_looks_for_first() -> None:
    version = yaml.safe_load((ROOT / "crds" / "kraftclusters.yaml").read_text())["spec"]["versions"][0]
    shown = [each["name"] for each in version["additionalPrinterColumns"] if not each.get("priority")]
    assert shown == ["Ready", "Phase", "Controllers", "Brokers", "Headroom", "Risk", "Waits For", "Age"]
    assert all(each.get("description") for each in version["additionalPrinterColumns"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_category_hides_a_resource_of_another_operator(path: Path) -> None:
    """kubectl takes a category before a resource of the same name, and Strimzi's users say `kubectl get kafka NAME`."""
    names = yaml.safe_load(path.read_text())["spec"]["names"]
    assert "kafka" not in names["categories"]
    assert "kraft" in names["categories"]
