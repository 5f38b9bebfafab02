"""What a container of the Spark image runs: Spark on Kubernetes gives its pods the words `driver ...` or `executor` and
settings in the environment.

pip's pyspark has the Kubernetes jars but no entrypoint, so this is ours; anything else is run as it is, so the image
serves `kraft-pipeline ...` by itself too. Nothing here needs a shell: `submit` stands in for Spark's `spark-submit`,
and asks Spark's own launcher for the command line of the JVM.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
LAUNCHER: Final = "org.apache.spark.launcher.Main"
SUBMIT: Final = "org.apache.spark.deploy.SparkSubmit"
_OPTION: Final = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def command(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The program to become. Raises KeyError naming a setting that Spark did not give."""
    match list(words):
        case ["driver", *rest]:
            address = environment["SPARK_DRIVER_BIND_ADDRESS"]
            submit = f"{environment['SPARK_HOME']}/bin/spark-submit"
            return [
                submit, "--conf", f"spark.driver.bindAddress={address}", "--conf",
                f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}", "--deploy-mode", "client", *rest,
            ]  # fmt: skip
        case ["executor"]:
            memory = environment["SPARK_EXECUTOR_MEMORY"]
            classes = f"{environment.get('SPARK_CLASSPATH', '')}:{environment['SPARK_HOME']}/jars/*"
            return [
                f"{environment['JAVA_HOME']}/bin/java", *java_options(environment), f"-Xms{memory}", f"-Xmx{memory}",
                "-cp", classes.lstrip(":"), BACKEND,
                "--driver-url", environment["SPARK_DRIVER_URL"], "--executor-id", environment["SPARK_EXECUTOR_ID"],
                "--cores", environment["SPARK_EXECUTOR_CORES"], "--app-id", environment["SPARK_APPLICATION_ID"],
                "--hostname", environment["SPARK_EXECUTOR_POD_IP"], "--resourceProfileId",
                environment["SPARK_RESOURCE_PROFILE_ID"], "--podName", environment["SPARK_EXECUTOR_POD_NAME"],
            ]  # fmt: skip
        case [_, *_] as other:
            return other
        case _:
            return ["kraft-pipeline", "--help"]


def java_options(environment: Mapping[str, str]) -> list[str]:
    """SPARK_JAVA_OPT_0, _1, ... in the order of their numbers."""
    numbered = {int(found[1]): value for name, value in environment.items() if (found := _OPTION.fullmatch(name))}
    return [numbered[number] for number in sorted(numbered)]


def launcher(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The program that says which command line a submission becomes."""
    return [
        f"{environment['JAVA_HOME']}/bin/java", "-Xmx128m", "-cp", f"{environment['SPARK_HOME']}/jars/*", LAUNCHER,
        SUBMIT, *words,
    ]  # fmt: skip


def launched(reported: bytes) -> list[str]:
    """The command in what the launcher printed: words that end in NUL, after a NUL and a newline; what precedes these
    is for people.
    """
    _, mark, words = reported.partition(b"\0\n")
    if not mark or not words.endswith(b"\0"):
        raise ValueError(reported.decode(errors="replace").strip() or "Spark's launcher said nothing")
    return [word.decode() for word in words.removesuffix(b"\0").split(b"\0")]


def main() -> NoReturn:
    words = command(sys.argv[1:], os.environ)
    os.execvp(words[0], words)  # noqa: S606  it becomes the program, signals and all


def submit() -> NoReturn:
    """`spark-submit`, without a shell: what Spark's scripts put into the environment, then what its launcher says."""
    environment = {
        "PYTHONHASHSEED": "0",
        "SPARK_SCALA_VERSION": scala_version(Path(os.environ["SPARK_HOME"])),
        **os.environ,
    }
    done = subprocess.run(launcher(sys.argv[1:], environment), env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    words = launched(done.stdout)
    os.execvpe(words[0], words, environment)  # noqa: S606  as above


def scala_version(spark_home: Path) -> str:
    """Recognised by the names of Spark's jars."""
    (core,) = (spark_home / "jars").glob("spark-core_*.jar")
    return core.name.removeprefix("spark-core_").partition("-")[0]
