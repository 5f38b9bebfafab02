"""A ratchet for shape: functions stay under 60 lines, modules under 600, and a few traps of this layout stay shut.

Existing larger ones are listed in ALLOWED and may only shrink. Run by `make check` and as a test.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "controller_runtime",
    "operator/kraft_operator",
    "storage_guard",
    "metadata_pipeline",
    "pyspark_kraft",
    "deploy",
    "tools",
    "benchmarks",
)
MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 600
ALLOWED: dict[str, int] = {}


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "messages" not in path.parts:
                yield path


def findings() -> Iterator[str]:
    for path in modules():
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        lines = text.count("\n")
        if lines > ALLOWED.get(name, MAX_MODULE_LINES):
            yield f"{name}: {lines} lines (at most {ALLOWED.get(name, MAX_MODULE_LINES)}): does it hold one idea?"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                limit = ALLOWED.get(f"{name}:{node.name}", MAX_FUNCTION_LINES)
                if length > limit:
                    yield f"{name}:{node.lineno}: {node.name} has {length} lines (at most {limit})"
        if path.stem in sys.stdlib_module_names and "kraft_operator" in path.parts and path.stem != "queue":
            yield f"{name}: named like a module of the standard library"
    if (ROOT / "operator" / "__init__.py").exists():
        yield "operator/__init__.py shadows the standard library's operator: remove it"
    for path in (ROOT / "tests").rglob("__init__.py"):
        yield f"{path.relative_to(ROOT)}: tests have no packages"
    index = (ROOT / "docs" / "adr" / "README.md").read_text() if (ROOT / "docs" / "adr" / "README.md").exists() else ""
    for adr in sorted((ROOT / "docs" / "adr").glob("[0-9]*.md")):
        if adr.name not in index:
            yield f"docs/adr/{adr.name} is not linked from docs/adr/README.md"


def main() -> int:
    found = list(findings())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
