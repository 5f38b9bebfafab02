"""Writes the locks with hashes: what the images install, and what development installs. No registry address
is written.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS: dict[str, list[str]] = {
    "requirements-runtime.lock": [],
    "requirements-operator.lock": ["--extra", "operator", "--extra", "store"],
    "requirements-spark.lock": ["--extra", "pipeline", "--extra", "store", "--extra", "iceberg"],
    "requirements-dev.lock": [
        "--extra",
        "operator",
        "--extra",
        "pipeline",
        "--extra",
        "connect",
        "--extra",
        "store",
        "--extra",
        "iceberg",
        "--group",
        "test",
        "--group",
        "interop",
        "--group",
        "dev",
    ],
}


def main() -> int:
    for name, selection in LOCKS.items():
        subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", "-q", "pyproject.toml", *selection, "--generate-hashes",
                "--universal",
             "--python-version", "3.11", "--no-emit-index-url", "--no-emit-find-links", "--no-header", "-o", name],
            cwd=ROOT, check=True)  # fmt: skip
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
