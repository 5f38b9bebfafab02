"""`make check`: every static promise of the repository, one line each; `--fix` mends formatting and generated files.

Each check is a command that anyone can run by hand; a failing one prints its own words. Nothing is written without
`--fix`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = sys.executable
BIN = Path(PYTHON).parent

CHECKS: dict[str, list[str]] = {
    "formatting": [str(BIN / "ruff"), "format", "--check", "-q", "."],
    "lint": [str(BIN / "ruff"), "check", "-q", "."],
    "types": [str(BIN / "mypy"), "--no-error-summary"],
    "import contracts": [str(BIN / "lint-imports")],
    "tidiness": [PYTHON, "tools/tidy.py"],
    "checklist": [PYTHON, "tools/checklist.py"],
}
GENERATED: dict[str, list[str]] = {
    "message modules": [PYTHON, "tools/generate_messages.py"],
    "docs/compatibility.md": [PYTHON, "tools/compatibility.py"],
    "docs/design: state tables": [PYTHON, "tools/state_tables.py"],
}
FIXES: dict[str, list[str]] = {
    "lint": [str(BIN / "ruff"), "check", "-q", "--fix", "."],
    "formatting": [str(BIN / "ruff"), "format", "-q", "."],
}


def run(commands: dict[str, list[str]]) -> list[str]:
    failed = []
    for name, command in commands.items():
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {name} ({time.monotonic() - started:.1f} s)", flush=True)
        if done.returncode != 0:
            print((done.stdout + done.stderr)[-8000:])
            failed.append(name)
    return failed


def main() -> int:
    if "--fix" in sys.argv:
        failed = run(GENERATED | FIXES)
    else:
        failed = run(CHECKS | {name: [*command, "--check"] for name, command in GENERATED.items()})
    if failed:
        print(f"failed: {', '.join(failed)}" + ("" if "--fix" in sys.argv else " (`make fix` mends what it can)"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
