"""What is in each image, as data: one truth for the Dockerfiles and for the builder without Docker.

A test compares the Dockerfiles with this module. Paths are the same in both: Debian's Python, our libraries below
`LIBRARY`, Apache Kafka's layout below `KAFKA_HOME`, so that whoever starts a node by `/opt/kafka/bin/*.sh` need not
know whose node it is. No image of ours has a shell; the `.sh` files are Python programs.
"""

from dataclasses import dataclass

SUITE = "bookworm"
PYTHON = "python3.11"
INTERPRETER = f"/usr/bin/{PYTHON}"
LIBRARY = "/opt/quorate/lib"
KAFKA_HOME = "/opt/kafka"
JAVA_HOME = "/opt/java"
SPARK_HOME = f"{LIBRARY}/pyspark"
USER = "65532:65532"
BASE_PACKAGES = (f"{PYTHON}-minimal", f"lib{PYTHON}-stdlib", "ca-certificates", "netbase")

# The tools of Apache Kafka that we have, by the names of its scripts; each runs `kraft NAME` without its `kafka-`.
KAFKA_TOOLS = (
    "kafka-acls",
    "kafka-broker-api-versions",
    "kafka-client-metrics",
    "kafka-cluster",
    "kafka-configs",
    "kafka-consumer-groups",
    "kafka-delegation-tokens",
    "kafka-delete-records",
    "kafka-dump-log",
    "kafka-features",
    "kafka-get-offsets",
    "kafka-groups",
    "kafka-leader-election",
    "kafka-log-dirs",
    "kafka-metadata-quorum",
    "kafka-metadata-shell",
    "kafka-reassign-partitions",
    "kafka-server-start",
    "kafka-storage",
    "kafka-topics",
)

ENVIRONMENT = (
    ("PATH", f"{KAFKA_HOME}/bin:/usr/local/bin:/usr/bin:/bin"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONUNBUFFERED", "1"),
    ("LANG", "C.UTF-8"),
)


@dataclass(frozen=True, slots=True)
class Program:
    """A small Python program in the image: where it is, which function it calls, with which first arguments."""

    path: str
    module: str
    function: str = "main"
    arguments: tuple[str, ...] = ()

    def text(self) -> str:
        """-B -S: nothing is written beside the sources, and no site-packages are searched; both cost start-up time.

        The arguments are set in sys.argv, so that any `main()` of a console script can be called. SIGTERM is handled
        from the first line on: process 1 of a container ignores it otherwise until the program has imported itself, and
        a pod that is deleted while it starts would last until its grace period ends.
        """
        lines = [f"#!{INTERPRETER} -BS", "import signal", "import sys"]
        lines += ["signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))", f'sys.path[0] = "{LIBRARY}"']
        if self.arguments:
            lines.append(f"sys.argv[1:1] = {list(self.arguments)!r}")
        lines += [f"from {self.module} import {self.function}", f"sys.exit({self.function}())"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Image:
    """One image of ours: libraries from a lock, packages from the repository (folder -> name), programs,
    how it runs.
    """

    name: str
    title: str
    lock: str
    packages: tuple[str, ...]
    programs: tuple[Program, ...]
    entrypoint: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    configuration: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ENVIRONMENT
    from_source: tuple[str, ...] = ()
    """Libraries that are published as sources alone."""
    java_package: str = ""
    """Debian's Java, for an image that needs one."""
    working_directory: str = ""

    @property
    def reference(self) -> str:
        return f"localhost/quorate/{self.name}:dev"


CLI = "controller_runtime.cli.main"
PIPELINE = "metadata_pipeline.cli"

# A second implementation of the same functions, never chosen on CPython.
UNUSED_IN_RUNTIME = ("zstandard/*cffi*",)

RUNTIME = Image(
    name="runtime",
    title="Quorate's controller and broker, laid out as Apache Kafka's image",
    lock="requirements-runtime.lock",
    packages=("controller_runtime",),
    programs=(
        Program("/usr/local/bin/kraft", CLI),
        *(
            Program(f"{KAFKA_HOME}/bin/{tool}.sh", CLI, arguments=(tool.removeprefix("kafka-"),))
            for tool in KAFKA_TOOLS
        ),
    ),
    entrypoint=(f"{KAFKA_HOME}/bin/kafka-server-start.sh",),
    arguments=(f"{KAFKA_HOME}/config/server.properties",),
    configuration=("server.properties",),
    unused=UNUSED_IN_RUNTIME,
)

OPERATOR = Image(
    name="operator",
    title="Quorate's Kubernetes operator and its storage guard",
    lock="requirements-operator.lock",
    packages=("controller_runtime", "operator/kraft_operator", "storage_guard", "metadata_pipeline"),
    programs=(
        Program("/usr/local/bin/kraft", CLI),
        Program("/usr/local/bin/kraft-archive", "metadata_pipeline.archive.command"),
        Program("/usr/local/bin/kraft-operator", "kraft_operator.__main__"),
        Program("/usr/local/bin/storage-guard", "storage_guard.__main__"),
    ),
    entrypoint=("/usr/local/bin/kraft-operator",),
    unused=(*UNUSED_IN_RUNTIME, "kubernetes/aio"),
)

SPARK = Image(
    name="spark",
    title="Quorate's metadata pipeline, for the driver and the executors of Spark on Kubernetes",
    lock="requirements-spark.lock",
    packages=("controller_runtime", "metadata_pipeline", "pyspark_kraft"),
    programs=(
        Program("/usr/local/bin/kraft-pipeline", PIPELINE),
        Program("/usr/local/bin/spark-entrypoint", "metadata_pipeline.container"),
        # spark-submit knows a Python program by its ending.
        Program("/opt/quorate/kraft_pipeline.py", PIPELINE),
        # Spark's own is a bash script, and the image has no shell.
        Program(f"{SPARK_HOME}/bin/spark-submit", "metadata_pipeline.container", "submit"),
    ),
    entrypoint=("/usr/local/bin/spark-entrypoint",),
    unused=(
        *UNUSED_IN_RUNTIME,
        # Not for a pipeline: examples, scripts for shells, an interactive Scala, the state store of stateful streams.
        "pyspark/bin/*", "pyspark/sbin", "pyspark/examples", "pyspark/data", "pyspark/jars/connect-repl",
        "pyspark/jars/rocksdbjni-*", "pyarrow/include", "pyarrow/libarrow_flight.*", "pyarrow/_flight*",
    ),
    environment=(
        ("PATH", f"/usr/local/bin:{JAVA_HOME}/bin:/usr/bin:/bin"),
        ("PYTHONPATH", LIBRARY),
        ("JAVA_HOME", JAVA_HOME),
        ("SPARK_HOME", SPARK_HOME),
        ("PYSPARK_PYTHON", INTERPRETER),
        ("PYSPARK_DRIVER_PYTHON", INTERPRETER),
        ("HOME", "/tmp"),  # noqa: S108  the container's own
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONUNBUFFERED", "1"),
        ("LANG", "C.UTF-8"),
    ),
    from_source=("pyspark",),
    java_package="openjdk-17-jre-headless",
    working_directory="/tmp",  # noqa: S108  as above
)  # fmt: skip

IMAGES = (RUNTIME, OPERATOR)
"""What a cluster needs; the pipeline's image is built when it is asked for."""
ALL = (*IMAGES, SPARK)
