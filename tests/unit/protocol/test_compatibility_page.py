"""`docs/compatibility.md` says what the tables of the running nodes say."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from controller_runtime.parts.api_table import served
from controller_runtime.protocol.api_keys import APIS, ListenerType

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]


@pytest.fixture
def generator() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("compatibility", ROOT / "tools" / "compatibility.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path[:] = path


def test_the_page_is_what_the_generator_writes(generator: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert generator.main(["--check"]) == 0, capsys.readouterr().err


def test_a_changed_page_is_seen(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "PAGE", tmp_path / "compatibility.md")
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    page = tmp_path / "compatibility.md"
    page.write_text(page.read_text().replace("wire only", "supported"))
    assert generator.main(["--check"]) == 1
    assert "is not what" in capsys.readouterr().err


def test_every_api_has_its_row_with_the_versions_that_are_served() -> None:
    rows = {
        row.split(" | ")[0].removeprefix("| "): row.split(" | ")
        for row in (ROOT / "docs" / "compatibility.md").read_text().splitlines()
        if row.startswith("| ")
    }
    for api in APIS:
        cells = rows[api.name]
        for role, cell in ((ListenerType.BROKER, cells[3]), (ListenerType.CONTROLLER, cells[4])):
            if api.key in served(role):
                assert cell.split()[-1] == str(served(role)[api.key]), (api.name, role)
            else:
                assert cell in ("wire only", "–", "absent"), (api.name, role)
