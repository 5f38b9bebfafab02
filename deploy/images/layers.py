"""The layers above the base: libraries from a lock with hashes, our packages, the small programs that start them.

The libraries' layer is remembered by its lock; the code's layer is written anew each time, from compiled modules that
are remembered one by one, so a change of one file costs a second.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from deploy.images import bytecode, oci, programs, spec

# What libraries bring along and nothing imports.
UNUSED_FOLDERS = ("tests", "testing_tests", "docs", "bin", "__pycache__")


class LayerError(Exception):
    """A layer could not be made; the message says which and why."""


def libraries(cache: Path, lock: Path, unused: tuple[str, ...], from_source: tuple[str, ...] = ()) -> oci.Layer:
    key = hashlib.sha256(Path(__file__).read_bytes() + lock.read_bytes() + repr(unused).encode()).hexdigest()[:16]
    layer = cache / f"{lock.stem}-{key}.layer"
    if not layer.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            site = Path(folder) / "site"
            install(lock, site, tuple(f"--no-binary={name}" for name in from_source))
            part = Path(folder) / "part"
            oci.write_layer(part, library_entries(site, unused))
            part.rename(layer)
    return oci.existing_layer(layer)


def install(lock: Path, site: Path, options: tuple[str, ...] = ()) -> None:
    """What the lock names, each file by its hash, below `site`."""
    command = (
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps",
        "--only-binary=:all:", *options, "--require-hashes",
        "--target", str(site), "-r", str(lock),
    )  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LayerError(f"pip could not install {lock.name}:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")


def library_entries(site: Path, unused: tuple[str, ...]) -> Iterable[oci.Entry]:
    """What was installed, without what nothing imports, and compiled."""
    _prune(site, unused)
    return _with_bytecode(site, spec.LIBRARY.lstrip("/"))


def _prune(site: Path, unused: tuple[str, ...]) -> None:
    for folder in [path for path in site.rglob("*") if path.is_dir() and path.name in UNUSED_FOLDERS]:
        shutil.rmtree(folder, ignore_errors=True)
    for pattern in (*unused, "**/*.pyi", "**/*.c", "**/*.pyx", "**/*.pxd", "**/*.h"):
        for path in list(site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _with_bytecode(folder: Path, prefix: str) -> Iterable[oci.Entry]:
    for entry in oci.tree(folder, prefix):
        yield entry
        if entry.source is not None and entry.path.endswith(".py"):
            yield compiled_entry(entry.source, entry.path)


def compiled_entry(source: Path, path: str) -> oci.Entry:
    return oci.Entry(bytecode.cache_path(path), 0o644, content=bytecode.compiled(source, f"/{path}"))


def code_entries(root: Path, image: spec.Image) -> Iterable[oci.Entry]:
    """Our packages, sources and compiled, and the programs."""
    for folder in image.packages:
        prefix = f"{spec.LIBRARY.lstrip('/')}/{Path(folder).name}"
        for entry in oci.tree(root / folder, prefix):
            if "__pycache__" in entry.path:
                continue
            yield entry
            if entry.source is not None and entry.path.endswith(".py"):
                yield compiled_entry(entry.source, entry.path)
    for path, (mode, content) in programs.files(image).items():
        yield oci.Entry(path.lstrip("/"), mode, content=content)


def code(folder: Path, root: Path, image: spec.Image) -> oci.Layer:
    return oci.write_layer(folder / f"{image.name}-code.layer", code_entries(root, image))
