"""A Java for images, made from this machine's: linked by jlink of the modules that a program needs, or whole where
there is no jlink.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from deploy.images import oci, spec


class JavaError(Exception):
    """This machine's Java cannot be put into an image; the message says what to install."""


def layer(cache: Path, modules: tuple[str, ...]) -> oci.Layer:
    """Remembered by Java's version and the modules."""
    if shutil.which("java") is None:
        raise JavaError("java is missing: apt-get install openjdk-17-jre-headless")
    version = subprocess.run(("java", "-version"), capture_output=True, text=True, check=True).stderr
    linked = shutil.which("jlink") is not None
    key = hashlib.sha256(repr((version, linked, modules, spec.JAVA_HOME)).encode()).hexdigest()[:16]
    layer = cache / f"java-{key}.layer"
    if not layer.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            runtime = Path(folder) / "java"
            _link(runtime, modules) if linked else _copy(runtime)
            part = Path(folder) / "part"
            oci.write_layer(part, oci.tree(runtime, spec.JAVA_HOME.lstrip("/")))
            part.rename(layer)
    return oci.existing_layer(layer)


def libraries() -> Iterable[oci.Entry]:
    """The one shared library that Java needs and the base lacks."""
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64"):
        library = Path(folder) / "libstdc++.so.6"
        if library.exists():
            yield oci.Entry("usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0o644, source=library.resolve())
            return
    raise JavaError("libstdc++.so.6 is missing: apt-get install libstdc++6")


def _link(runtime: Path, modules: tuple[str, ...]) -> None:
    options = ("--strip-debug", "--no-header-files", "--no-man-pages", f"--add-modules={','.join(modules)}")
    subprocess.run(("jlink", *options, f"--output={runtime}"), check=True, capture_output=True)
    subprocess.run((str(runtime / "bin/java"), "-Xshare:dump", "-XX:+UseSerialGC"), check=True, capture_output=True)


def _copy(runtime: Path) -> None:
    """A machine with a Java runtime and no development kit: the whole of it, three times as large."""
    settings = subprocess.run(
        ("java", "-XshowSettings:properties", "-version"), capture_output=True, text=True, check=True
    ).stderr
    home = next(line.partition("=")[2].strip() for line in settings.splitlines() if "java.home =" in line)
    unused = shutil.ignore_patterns("jmods", "man", "docs", "src.zip", "include")
    shutil.copytree(home, runtime, symlinks=False, ignore=unused, ignore_dangling_symlinks=True)
