"""The layer below all others: Debian's Python, its shared libraries and the certificates, without shell or packages'
tools.

mmdebstrap extracts the packages and runs none of their scripts, so what those would have made is made here: the bundle
of certificates, the users' files, and compiled standard library modules (on a read-only file system Python would
else compile them anew at every start). The layer is cached by this file and the list of packages.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from deploy.images import bytecode, oci, spec

UNUSED = (
    "usr/bin/",
    "usr/sbin/",
    "usr/libexec/",
    "usr/share/",
    "usr/lib/systemd/",
    "usr/lib/mime/",
    "usr/lib/binfmt.d/",
    *(
        f"usr/lib/{triplet}/{part}"
        for triplet in ("x86_64-linux-gnu", "aarch64-linux-gnu")
        for part in ("gconv/", "perl", "engines-3/")
    ),
    f"usr/lib/{spec.PYTHON}/pydoc_data/",
    f"usr/lib/{spec.PYTHON}/lib2to3/",
    "bin/",
    "sbin/",
    "dev/",
    "proc/",
    "sys/",
    "var/",
    "boot/",
    "media/",
    "mnt/",
    "srv/",
    "lib/systemd/",
    "etc/apt/",
    "etc/dpkg/",
    "etc/alternatives/",
    "etc/cron.daily/",
    "etc/logrotate.d/",
    "etc/systemd/",
    "etc/perl/",
    "etc/init.d/",
    "etc/default/",
)
KEPT = (spec.INTERPRETER.lstrip("/"), "usr/share/ca-certificates/mozilla/", "usr/share/zoneinfo/UTC")
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/nonexistent\nquorate:x:65532:65532:quorate:/:/nonexistent\n",
    "etc/group": "root:x:0:\nquorate:x:65532:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


class BaseError(Exception):
    """The base could not be made; the message ends with what mmdebstrap said."""


def base_layer(cache: Path) -> oci.Layer:
    key = hashlib.sha256(Path(__file__).read_bytes() + repr((spec.SUITE, spec.BASE_PACKAGES)).encode())
    layer = cache / f"base-{key.hexdigest()[:16]}.layer"
    if not layer.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _make(Path(folder), layer)
    return oci.existing_layer(layer)


def _make(work: Path, layer: Path) -> None:
    if shutil.which("mmdebstrap") is None:
        raise BaseError("mmdebstrap is missing: apt-get install mmdebstrap")
    archive = work / "rootfs.tar"
    command = ("mmdebstrap", "--variant=extract", f"--include={','.join(spec.BASE_PACKAGES)}", spec.SUITE, str(archive))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BaseError(f"mmdebstrap failed:\n{done.stderr[-3000:]}")
    root = work / "root"
    with tarfile.open(archive) as tar:
        tar.extractall(root, members=wanted(tar), filter="tar")
    part = work / "part"
    oci.write_layer(part, entries(root))
    part.rename(layer)


def is_wanted(name: str) -> bool:
    name = name.removeprefix("./")
    return name.startswith(KEPT) or not name.startswith(UNUSED)


def wanted(tar: tarfile.TarFile) -> Iterable[tarfile.TarInfo]:
    return [member for member in tar if is_wanted(member.name) and not member.isdev()]


def entries(root: Path) -> Iterable[oci.Entry]:
    """The layer, of packages that were unpacked below `root`."""
    yield from (entry for entry in oci.tree(root, "") if entry.path)
    certificates = sorted((root / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    bundle = b"".join(certificate.read_bytes() for certificate in certificates)
    yield oci.Entry("etc/ssl/certs/ca-certificates.crt", 0o644, content=bundle)
    yield oci.Entry("tmp", 0o1777)
    yield from (oci.Entry(path, 0o644, content=text.encode()) for path, text in FILES.items())
    library = root / "usr/lib" / spec.PYTHON
    for source in sorted(library.rglob("*.py")):
        if "lib2to3" not in source.parts:
            inside = source.relative_to(root)
            compiled = bytecode.compiled(source, f"/{inside}")
            yield oci.Entry(bytecode.cache_path(str(inside)), 0o644, content=compiled)


def check_python() -> None:
    """Modules are compiled by the Python that builds: it must be the image's version."""
    running = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if running != spec.PYTHON:
        raise BaseError(f"images are built with {spec.PYTHON} (its byte code goes into them); this is {running}")
