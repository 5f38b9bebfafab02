"""What the pages point at exists: links, the folders and files of the map, the commands of the Makefile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    page for place in (ROOT.glob("*.md"), ROOT.glob("docs/**/*.md"), ROOT.glob("deploy/**/*.md")) for page in place
)
MAP = (ROOT / "ARCHITECTURE.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_map_names_folders_and_files_that_exist() -> None:
    folders = re.findall(r"^\| `([^`]+)`", MAP, re.MULTILINE)
    files = re.findall(r"`([a-z_/]+\.(?:py|yaml|md))`", MAP)
    assert len(folders) > 20
    assert len(files) > 10
    roots = (ROOT, ROOT / "controller_runtime", ROOT / "operator", ROOT / "controller_runtime" / "protocol")
    assert [name for name in folders + files if not any((root / name).exists() for root in roots)] == []


def test_the_map_leaves_no_package_out() -> None:
    packages = [path for path in (ROOT / "controller_runtime").iterdir() if (path / "__init__.py").exists()]
    top = [
        ROOT / name
        for name in ("benchmarks", "charts/kraft-operator", "crds", "docs", "storage_guard", "tests", "tools")
    ]
    shown = {str(path.relative_to(ROOT)) for path in packages + top}
    assert {name for name in shown if f"`{name}/`" not in MAP} == set()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/testing.md"])
def test_every_make_command_that_is_advised_exists(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    advised = set(re.findall(r"(?:^|`|… )make ([a-z][a-z-]*)", (ROOT / page).read_text(), re.MULTILINE))
    assert advised
    assert advised <= targets
