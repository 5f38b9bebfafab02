"""docs/operations/coming-from.md: no field of another operator without its place here or the reason why it has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations" / "coming-from.md"
OTHERS = {"convert": "a command of ours", "monitoring": "a value of the chart", "kraftMetadata": "a field of Strimzi's"}


def rows() -> list[tuple[str, str]]:
    cells = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert all(len(each) == 2 for each in cells), [each for each in cells if len(each) != 2]
    return [(one.strip(), other.strip()) for one, other in cells if one.strip() != "field"]


def fields(schema: Any) -> Iterator[str]:
    for name, each in (schema.get("properties") or {}).items():
        yield name
        yield from fields(each)
    if "items" in schema:
        yield from fields(schema["items"])


def of_the_definitions() -> set[str]:
    found: set[str] = set()
    for name in ("kraftclusters", "kraftusers", "kraftoperations"):
        (version,) = yaml.safe_load((ROOT / "crds" / f"{name}.yaml").read_text())["spec"]["versions"]
        found |= set(fields(version["schema"]["openAPIV3Schema"]))
    return found


def test_no_cell_is_empty_and_what_is_not_built_says_why() -> None:
    found = rows()
    assert len(found) > 60
    for field, here in found:
        assert len(re.sub(r"[-–—?\W]", "", here)) > 2, field
        assert not re.search(r"(^|others )none\b(?![^;]*: \w)", here), f"{field}: {here}"


def test_every_field_that_the_page_names_is_one_of_ours() -> None:
    known, paths = of_the_definitions(), re.compile(r"`([a-z]\w+(?:\[\])?(?:\.(?:\w+(?:\[\])?|\*))*)(?:: \w+)?`")
    unknown = {
        (field, path)
        for field, here in rows()
        for path in paths.findall(here)
        if path not in OTHERS and any(part.removesuffix("[]") not in known for part in path.split(".") if part != "*")
    }
    assert unknown == set()
