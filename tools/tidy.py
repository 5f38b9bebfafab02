"""A ratchet for shape: functions have at most 60 lines, modules under 400, lines of text at most 120 characters, and a
few traps of this layout stay shut.

Larger ones are listed in ALLOWED and may only shrink: an entry that is no longer needed is a finding, too. Lines of
code are ruff's to measure (E501). Run by `make check` and as a test.
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
MAX_MODULE_LINES = 399
MAX_LINE_CHARACTERS = 120
MAX_POSITIONAL_ARGUMENTS = 5
ALLOWED: dict[str, int] = {}
"""Modules (by path) and functions (`path:name`). Tables of names would belong here: none is so long today."""
TEXTS = {".md", ".py", ".txt", ".toml", ".yaml", ".yml", ".json", ".sh"}
BY_POSITION = {"Api", "BatchPlace", "pack", "_read", "run_tool"}
"""Rows of a table, what is made for each batch or record of a log, `struct`, and command lines. It only shrinks."""


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
    yield from unneeded()
    index = (ROOT / "docs" / "adr" / "README.md").read_text() if (ROOT / "docs" / "adr" / "README.md").exists() else ""
    for adr in sorted((ROOT / "docs" / "adr").glob("[0-9]*.md")):
        if adr.name not in index:
            yield f"docs/adr/{adr.name} is not linked from docs/adr/README.md"


def unneeded() -> Iterator[str]:
    """Modules that became small enough, or went."""
    for name in ALLOWED:
        if ":" not in name:
            path = ROOT / name
            if not path.exists() or path.read_text().count("\n") <= MAX_MODULE_LINES:
                yield f"tools/tidy.py: take {name} out of ALLOWED, it is small enough now"


def positional_arguments() -> Iterator[str]:
    """Of calls with many: a reader cannot tell which is which."""
    trees = {path: ast.parse(path.read_text()) for path in modules()}
    functions = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    known = BY_POSITION | {each.name for each in functions if each.args.vararg is not None}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or len(node.args) <= MAX_POSITIONAL_ARGUMENTS:
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            if name not in known and not any(isinstance(each, ast.Starred) for each in node.args):
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield f"{place}: {name} is given {len(node.args)} arguments by position: name them"


def long_lines() -> Iterator[str]:
    """Of what people read. Tables, commands, and a single long word cannot be wrapped."""
    for path in sorted(ROOT.rglob("*.md")):
        if {".venv", "golden"} & set(path.relative_to(ROOT).parts):
            continue
        in_code = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            in_code ^= line.lstrip().startswith("```")
            wraps = not in_code and not line.startswith(("|", "[")) and " " in line.strip().lstrip("-* ")
            if wraps and len(line) > MAX_LINE_CHARACTERS:
                yield f"{path.relative_to(ROOT)}:{number}: {len(line)} characters (at most {MAX_LINE_CHARACTERS})"


def conflict_marks() -> Iterator[str]:
    """What a merge left behind."""
    for folder in (".", "docs", "tests", "crds", "charts", *PACKAGES):
        files = (ROOT / folder).glob("*") if folder == "." else (ROOT / folder).rglob("*")
        for path in sorted(files):
            if path.suffix not in TEXTS or not path.is_file() or ".venv" in path.parts or "golden" in path.parts:
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
                    yield f"{path.relative_to(ROOT)}:{number}: a mark of a conflict: decide, and take it out"


def main() -> int:
    found = [*findings(), *long_lines(), *positional_arguments(), *conflict_marks()]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
