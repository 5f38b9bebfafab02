"""What a spec renders to, object by object, as reviewers read it: tests/golden/manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.kubernetes.rendering import golden_specs, render_golden, to_yaml

pytestmark = pytest.mark.unit


def file_name(manifest: dict[str, Any]) -> str:
    return f"{manifest['kind'].lower()}-{manifest['metadata']['name']}.yaml"


@pytest.mark.parametrize("spec", golden_specs(), ids=lambda spec: spec.parent.name)
def test_a_spec_renders_to_its_golden_manifests(spec: Path, rewrite: bool) -> None:
    rendered = {file_name(each): to_yaml(each) for each in render_golden(spec)}
    if rewrite:
        for path in spec.parent.glob("*-*.yaml"):
            path.unlink()
        for name, text in rendered.items():
            (spec.parent / name).write_text(text)
    expected = {path.name: path.read_text() for path in spec.parent.glob("*-*.yaml")}
    assert rendered == expected
