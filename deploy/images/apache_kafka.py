"""An image of an unmodified Apache Kafka, from the jars of Maven and the Java of this machine: for tests and
comparisons.

The operator must run it as it runs ours, which proves that it does not know its runtime. Layout and scripts' names are
those of the `apache/kafka` image; the scripts are our own, shorter ones.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from deploy.images import bytecode, java, oci, spec

VERSION = "4.3.1"
VERSIONS = {"apache-kafka": VERSION, "apache-kafka-4.2": "4.2.0"}
"""Image to release: the one that everything is compared with, and the one before, to upgrade from."""
JAVA_MODULES = (
    "java.base", "java.logging", "java.management", "java.naming", "java.security.jgss", "java.security.sasl",
    "java.sql", "java.xml", "jdk.crypto.ec", "jdk.management", "jdk.naming.dns", "jdk.net", "jdk.unsupported",
    "jdk.zipfs", "java.net.http", "java.rmi", "java.management.rmi", "java.instrument", "java.desktop",
    "jdk.management.agent",
)  # fmt: skip
MAIN_CLASSES = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-metadata-shell": "org.apache.kafka.shell.MetadataShell",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-server-start": "kafka.Kafka",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}
# Small and quick to start on two cores; KAFKA_HEAP_OPTS, KAFKA_OPTS and EXTRA_ARGS change them as in Kafka's own
# scripts. The jars are those of a release: verifying their code again costs a quarter of every start.
JVM_FLAGS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -XX:-UsePerfData "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
NODE_LOGGING = ("SYSTEM_OUT", "INFO")
TOOL_LOGGING = ("SYSTEM_ERR", "WARN")
SHELL_COMMANDS = ("cat", "echo", "env", "grep", "head", "ls", "mkdir", "ps", "rm", "sh", "sleep", "tail", "test", "vi")


class ApacheKafkaError(Exception):
    """The image's parts are not on this machine; the message says how to get them."""


def script(name: str) -> str:
    kind, heap = ("node", "256m") if name == "kafka-server-start" else ("tool", "128m")
    arguments = "$EXTRA_ARGS " if kind == "node" else ""
    return f"""\
#!/bin/sh
exec {spec.JAVA_HOME}/bin/java ${{KAFKA_HEAP_OPTS:--Xmx{heap}}} {JVM_FLAGS} \\
  -Dlog4j2.configurationFile={spec.KAFKA_HOME}/config/log4j2-{kind}.xml $KAFKA_OPTS \\
  -cp '{spec.KAFKA_HOME}/libs/*' {arguments}{MAIN_CLASSES[name]} "$@"
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


def reference(name: str) -> str:
    return f"localhost/apache-kafka:{VERSIONS[name]}"


def jars_folder(version: str) -> Path:
    return bytecode.cache_home().parent / f"apache-kafka-{version}" / "lib"


def write(name: str, cache: Path, base: oci.Layer, output: Path) -> str:
    version = VERSIONS[name]
    jars = jars_folder(version)
    if not any(jars.glob("kafka_2.13-*.jar")):
        pom = "tests/support/apache_kafka/pom.xml"
        raise ApacheKafkaError(
            f"Apache Kafka's jars are not in {jars}: mvn -q -B -f {pom} -Dkafka.version={version} "
            f"dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory={jars}"
        )
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        shell = oci.write_layer(Path(folder) / "shell.layer", [*shell_entries(), *java.libraries()])
        kafka = oci.write_layer(Path(folder) / "kafka.layer", entries(jars))
        config = oci.Config(
            user=spec.USER,
            entrypoint=(f"{spec.KAFKA_HOME}/bin/kafka-server-start.sh",),
            arguments=(f"{spec.KAFKA_HOME}/config/server.properties",),
            environment=(
                f"PATH={spec.KAFKA_HOME}/bin:{spec.JAVA_HOME}/bin:/bin",
                f"JAVA_HOME={spec.JAVA_HOME}",
                "LANG=C.UTF-8",
            ),
        )
        return oci.write_image(output, reference(name), (base, java.layer(cache, JAVA_MODULES), shell, kafka), config)
