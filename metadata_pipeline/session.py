"""A Spark session that works with nothing but `pip install quorate[pipeline]` and a Java: found here, or its absence
explained.

Workers run the interpreter that runs the driver (a virtual environment need not be active), logs are quiet, times are
UTC, and a lake's files are decoded by Python workers, so the Java side needs little memory. Everything set here gives
way to what the caller sets (`--conf`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.problems import PipelineError, reason
from metadata_pipeline.spark_classes import QUICK, SparkClasses, keep

OLDEST_JAVA: Final = 17
LOCAL: Final = "local[*]"
_LOGGING: Final = Path(__file__).with_name("log4j2.properties")
_OPTIONS: Final = "spark.driver.extraJavaOptions"
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""What `spark-submit` sets for the Python program that it starts."""
_USUAL_PLACES: Final = ("/usr/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines")

Session = Any
"""A pyspark session, classic or of Spark Connect; pyspark is imported when a session is made."""


def find_java(environment: Mapping[str, str] | None = None) -> tuple[Path, int]:
    """The home of a Java that Spark can run on, and its version: JAVA_HOME, then PATH, then where systems
    install it.
    """
    seen: list[str] = []
    for program in _javas(os.environ if environment is None else environment):
        version = _java_version(program)
        if version >= OLDEST_JAVA:
            return program.resolve().parent.parent, version
        seen.append(f"{program} is Java {version}" if version else f"{program} does not run")
    found = f" ({'; '.join(seen)})" if seen else ""
    raise PipelineError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and there is none in JAVA_HOME, on "
        f"PATH or in {_USUAL_PLACES[0]}{found}",
        "install one (Debian: apt-get install openjdk-17-jre-headless) or set "
        "JAVA_HOME; `kraft-pipeline dump` needs no Java",
    )


def _javas(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(on_path)
    for place in map(Path, _USUAL_PLACES):
        yield from sorted(place.glob("*/bin/java")) if place.is_dir() else ()


def _java_version(program: Path) -> int:
    """The feature release, or 0 when the program does not tell it."""
    try:
        printed = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', printed.stderr + printed.stdout)
    return int(match[1]) if match else 0


SMALL: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
}
"""For a lake of few records: Java that is written and compiled for each query, exchanges and broadcasts cost more than
the rows.
"""
RECORDS: Final = "spark.quorate.classes"
"""Where the JVM of this session is going to leave its classes (`spark_classes`), and what they are called then."""
_ENDS_S: Final = 120.0
"""How long a JVM may take to leave them."""


def settings(master: str, conf: Mapping[str, str], *, small: bool = False, brief: bool = False) -> dict[str, str]:
    """Spark's configuration: what a lake needs, under what the caller says. `small`: for a lake of few records;
    `brief`: for a JVM that lives for a minute or two.
    """
    ours = {
        "spark.app.name": "kraft-pipeline",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        _OPTIONS: f"-Dlog4j2.configurationFile=file:{_LOGGING}",
    }
    if master.startswith("local"):
        ours |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "2g"}
        ours["spark.sql.shuffle.partitions"] = str(4 * (os.cpu_count() or 1))
        if small or brief:
            ours[_OPTIONS] += f" {QUICK}"
    return ours | (SMALL if small else {}) | dict(conf)


def named_settings(given: Sequence[str]) -> dict[str, str]:
    """What `--conf` says, NAME=VALUE each."""
    conf = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise PipelineError(f"--conf {one} is not NAME=VALUE", "for example --conf spark.executor.memory=2g")
        conf[name] = value
    return conf


def open_session(
    master: str | None = None, conf: Mapping[str, str] | None = None, *, small: bool = False, brief: bool = False
) -> Session:
    """A session on `master`: `local[*]` when none is given, `sc://...` is a Spark Connect server, which needs no Java
    here.

    Under `spark-submit`, as in the driver's pod on Kubernetes, the session is the one that was submitted, on its master
    and with its settings.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise PipelineError(f"pyspark is not installed ({missing})", "pip install 'quorate[pipeline]'") from missing
    builder: Any = SparkSession.builder
    if master is not None and master.startswith("sc://"):
        given = {**(SMALL if small else {}), **(conf or {})}
        return _with_source(_remote(_configured(builder.remote(master), given), master))
    if SUBMITTED in os.environ and master is None:
        given = _submitted()
        return _with_source(_configured(builder, beside(settings("", conf or {}, small=small), given)).getOrCreate())
    home, _ = find_java()
    os.environ["JAVA_HOME"] = str(home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    master = master or LOCAL
    given = settings(master, conf or {}, small=small, brief=brief)
    if (small or brief) and master.startswith("local") and _OPTIONS not in (conf or {}):
        given |= _with_classes(given[_OPTIONS], home)
    spark = _configured(builder.master(master), given).getOrCreate()
    return spark if small else _with_source(spark)


def _with_classes(options: str, java_home: Path) -> dict[str, str]:
    """A JVM that maps Spark's classes, or leaves them for the next one. Nothing where no cache can be kept."""
    try:
        classes = SparkClasses("small", java_home)
    except (OSError, RuntimeError):  # nobody's home, or one that cannot be written
        return {}
    with_classes = {_OPTIONS: f"{options} {classes.options}"}
    if classes.is_recording:
        with_classes[RECORDS] = f"{classes.recorded}{os.pathsep}{classes.archive}"
    return with_classes


def close_session(spark: Session) -> None:
    """Stop it. The first small session on a machine waits until its JVM has left its classes for the next ones."""
    context = getattr(spark, "_sc", None)
    recorded = None if context is None else context.getConf().get(RECORDS)
    gateway = None if context is None else context._gateway
    spark.stop()
    process = getattr(gateway, "proc", None)
    if recorded is None or process is None:
        return
    process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDS_S)
        left, named = map(Path, recorded.split(os.pathsep))
        keep(left, named)


def beside(ours: Mapping[str, str], submitted: Mapping[str, str]) -> dict[str, str]:
    """Our settings that the submission leaves open."""
    return {name: value for name, value in ours.items() if name not in submitted}


def _submitted() -> dict[str, str]:
    """What `spark-submit` was told: known to the JVM that started this process."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _remote(builder: Any, server: str) -> Session:
    try:
        return builder.getOrCreate()
    except ImportError as missing:
        raise PipelineError(
            f"a client of Spark Connect needs more than pyspark ({missing})", "pip install 'quorate[pipeline,connect]'"
        ) from missing
    except Exception as error:
        raise PipelineError(
            f"no Spark Connect server answers at {server}: {reason(error)}", "start one, or mend the address"
        ) from error


def _configured(builder: Any, conf: Mapping[str, str]) -> Any:
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder


def _with_source(spark: Session) -> Session:
    """Spark finds the source by itself in the process that plans, which a small session leaves it to (it asks another
    Python, for a second); a Spark Connect server that started before the wheel was there does not.
    """
    from metadata_pipeline.spark_source.source import KraftLogSource

    spark.dataSource.register(KraftLogSource)
    return spark
