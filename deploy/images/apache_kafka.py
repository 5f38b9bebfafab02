"""An image of an unmodified Apache Kafka, from the jars of Maven and the Java of this machine: for tests and comparisons.

The operator must run it as it runs ours, which proves that it does not know its runtime. Layout and scripts' names are
those of the `apache/kafka` image; the scripts are our own, shorter ones. Java is a runtime of the modules that Kafka
needs, linked by jlink, or the whole of it where there is no jlink.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from deploy.images import bytecode, oci, spec

VERSION = "4.3.1"
REFERENCE = f"localhost/apache-kafka:{VERSION}"
JAVA_HOME = "/opt/java"
JAVA_MODULES = (
    "java.base", "java.logging", "java.management", "java.naming", "java.security.jgss", "java.security.sasl",
    "java.sql", "java.xml", "jdk.crypto.ec", "jdk.management", "jdk.naming.dns", "jdk.net", "jdk.unsupported",
    "jdk.zipfs", "java.net.http", "java.rmi", "java.management.rmi", "java.instrument", "java.desktop",
)  # fmt: skip
MAIN_CLASSES = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-server-start": "kafka.Kafka",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}
# Small and quick to start on two cores; KAFKA_HEAP_OPTS and KAFKA_OPTS change them as in Kafka's own scripts.
JVM_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -XX:-UsePerfData"
NODE_LOGGING = ("SYSTEM_OUT", "INFO")
TOOL_LOGGING = ("SYSTEM_ERR", "WARN")
SHELL_COMMANDS = ("cat", "echo", "env", "grep", "head", "ls", "mkdir", "ps", "rm", "sh", "sleep", "tail", "test", "vi")


class ApacheKafkaError(Exception):
    """The image's parts are not on this machine; the message says how to get them."""


def script(name: str) -> str:
    kind, heap = ("node", "256m") if name == "kafka-server-start" else ("tool", "128m")
    return f"""\
#!/bin/sh
exec {JAVA_HOME}/bin/java ${{KAFKA_HEAP_OPTS:--Xmx{heap}}} {JVM_FLAGS} \\
  -Dlog4j2.configurationFile={spec.KAFKA_HOME}/config/log4j2-{kind}.xml $KAFKA_OPTS \\
  -cp '{spec.KAFKA_HOME}/libs/*' {MAIN_CLASSES[name]} "$@"
"""


def logging_configuration(target: str, level: str) -> str:
    return f"""\
<Configuration status="ERROR">
  <Appenders><Console name="c" target="{target}"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="{level}"><AppenderRef ref="c"/></Root></Loggers>
</Configuration>
"""


def entries(jars: Path) -> Iterable[oci.Entry]:
    home = spec.KAFKA_HOME.lstrip("/")
    yield from oci.tree(jars, f"{home}/libs")
    for name in MAIN_CLASSES:
        yield oci.Entry(f"{home}/bin/{name}.sh", 0o755, content=script(name).encode())
    for kind, logging in (("node", NODE_LOGGING), ("tool", TOOL_LOGGING)):
        text = logging_configuration(*logging)
        yield oci.Entry(f"{home}/config/log4j2-{kind}.xml", 0o644, content=text.encode())


def shell_entries() -> Iterable[oci.Entry]:
    yield oci.Entry("bin/busybox", 0o755, source=Path("/bin/busybox"))
    for command in SHELL_COMMANDS:
        yield oci.Entry(f"bin/{command}", link="busybox")


def library_entries() -> Iterable[oci.Entry]:
    """The one shared library that Java needs and the base lacks."""
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64"):
        library = Path(folder) / "libstdc++.so.6"
        if library.exists():
            yield oci.Entry("usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0o644, source=library.resolve())
            return
    raise ApacheKafkaError("libstdc++.so.6 is missing: apt-get install libstdc++6")


def java_layer(cache: Path) -> oci.Layer:
    if shutil.which("java") is None:
        raise ApacheKafkaError("java is missing: apt-get install openjdk-17-jre-headless")
    version = subprocess.run(("java", "-version"), capture_output=True, text=True, check=True).stderr
    linked = shutil.which("jlink") is not None
    key = hashlib.sha256(repr((version, linked, JAVA_MODULES, JAVA_HOME)).encode()).hexdigest()[:16]
    layer = cache / f"java-{key}.layer"
    if not layer.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            runtime = Path(folder) / "java"
            link_java(runtime) if linked else copy_java(runtime)
            part = Path(folder) / "part"
            oci.write_layer(part, oci.tree(runtime, JAVA_HOME.lstrip("/")))
            part.rename(layer)
    return oci.existing_layer(layer)


def link_java(runtime: Path) -> None:
    options = ("--strip-debug", "--no-header-files", "--no-man-pages", f"--add-modules={','.join(JAVA_MODULES)}")
    subprocess.run(("jlink", *options, f"--output={runtime}"), check=True, capture_output=True)
    subprocess.run((str(runtime / "bin/java"), "-Xshare:dump", "-XX:+UseSerialGC"), check=True, capture_output=True)


def copy_java(runtime: Path) -> None:
    """A machine with a Java runtime and no development kit: the whole of it, three times as large."""
    settings = subprocess.run(
        ("java", "-XshowSettings:properties", "-version"), capture_output=True, text=True, check=True
    ).stderr
    home = next(line.partition("=")[2].strip() for line in settings.splitlines() if "java.home =" in line)
    unused = shutil.ignore_patterns("jmods", "man", "docs", "src.zip", "include")
    shutil.copytree(home, runtime, symlinks=False, ignore=unused, ignore_dangling_symlinks=True)


def jars_folder() -> Path:
    return bytecode.cache_home().parent / f"apache-kafka-{VERSION}" / "lib"


def write(cache: Path, base: oci.Layer, output: Path) -> str:
    jars = jars_folder()
    if not any(jars.glob("kafka_2.13-*.jar")):
        pom = "tests/support/apache_kafka/pom.xml"
        raise ApacheKafkaError(
            f"Apache Kafka's jars are not in {jars}: mvn -q -B -f {pom} dependency:copy-dependencies "
            f"-DincludeScope=runtime -DoutputDirectory={jars}"
        )
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        shell = oci.write_layer(Path(folder) / "shell.layer", [*shell_entries(), *library_entries()])
        kafka = oci.write_layer(Path(folder) / "kafka.layer", entries(jars))
        config = oci.Config(
            user=spec.USER,
            entrypoint=(f"{spec.KAFKA_HOME}/bin/kafka-server-start.sh",),
            arguments=(f"{spec.KAFKA_HOME}/config/server.properties",),
            environment=(f"PATH={spec.KAFKA_HOME}/bin:{JAVA_HOME}/bin:/bin", f"JAVA_HOME={JAVA_HOME}", "LANG=C.UTF-8"),
        )
        return oci.write_image(output, REFERENCE, (base, java_layer(cache), shell, kafka), config)
