"""Compiled Python modules for images, deterministic and remembered by the hash of their source.

The compiled file says "unchecked": Python does not look at the source's time at every start, and the bytes depend on
nothing but the source and its path in the image.
"""

import hashlib
import os
import py_compile
import tempfile
from pathlib import Path

from deploy.images import spec


def cache_home() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quorate" / "images"
    home.mkdir(parents=True, exist_ok=True)
    return home


def cache_path(path: str) -> str:
    """`a/b.py` -> `a/__pycache__/b.cpython-311.pyc`."""
    folder, _, name = path.rpartition("/")
    tag = spec.PYTHON.removeprefix("python").replace(".", "")
    return f"{folder}/__pycache__/{name.removesuffix('.py')}.cpython-{tag}.pyc"


def compiled(source: Path, path_in_image: str) -> bytes:
    digest = hashlib.sha256(path_in_image.encode() + b"\0" + source.read_bytes()).hexdigest()
    remembered = cache_home() / "bytecode" / digest[:2] / digest
    if not remembered.exists():
        remembered.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=remembered.parent) as folder:
            part = Path(folder) / "part"
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), str(part), dfile=path_in_image, doraise=True, invalidation_mode=mode)
            part.rename(remembered)
    return remembered.read_bytes()
