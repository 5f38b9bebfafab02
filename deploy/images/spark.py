"""What the image of the pipeline has beside libraries and code: Java, linked of the modules that Spark needs, and what
Java calls.

Spark comes from its Python package: that has every jar, those for Kubernetes too. Its start scripts, which need a bash,
are replaced by a program of ours; see `metadata_pipeline/container.py`.
"""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from deploy.images import java, oci

# jdk.incubator.vector: Spark's launcher names it; jdk.security.auth: Hadoop asks who the user is; java.desktop: beans.
JAVA_MODULES = (
    "java.base", "java.compiler", "java.desktop", "java.instrument", "java.logging", "java.management",
    "java.management.rmi", "java.naming", "java.net.http", "java.prefs", "java.rmi", "java.scripting",
    "java.security.jgss", "java.security.sasl", "java.sql", "java.transaction.xa", "java.xml", "java.xml.crypto",
    "jdk.attach", "jdk.charsets", "jdk.crypto.ec", "jdk.httpserver", "jdk.incubator.vector", "jdk.jfr",
    "jdk.management",
    "jdk.naming.dns", "jdk.net", "jdk.security.auth", "jdk.security.jgss", "jdk.unsupported", "jdk.zipfs",
)  # fmt: skip


def layers(cache: Path) -> tuple[oci.Layer, ...]:
    """Java is remembered; the rest is small."""
    beside = cache / "beside-java.layer"
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        part = Path(folder) / "part"
        oci.write_layer(part, [*java.libraries(), *programs()])
        part.rename(beside)
    return java.layer(cache, JAVA_MODULES), oci.existing_layer(beside)


def programs() -> Iterable[oci.Entry]:
    """Hadoop runs chmod for every file that it makes on a file system of the machine."""
    if (chmod := shutil.which("chmod")) is None:
        raise java.JavaError("chmod is missing: apt-get install coreutils")
    yield oci.Entry("usr/local/bin/chmod", 0o755, source=Path(chmod).resolve())
