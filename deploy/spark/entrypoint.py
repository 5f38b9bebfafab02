"""What a container of the Spark image runs: Spark on Kubernetes gives its pods the words `driver ...` or `executor` and settings in the environment.

pip's pyspark has the Kubernetes jars but no entrypoint, so this is ours. Anything else is run as it is, so the image also serves
`kraft-pipeline ...` by itself.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def command(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The program to become. Raises KeyError naming a setting that Spark did not give."""
    match list(words):
        case ["driver", *rest]:
            address = environment["SPARK_DRIVER_BIND_ADDRESS"]
            submit = f"{environment['SPARK_HOME']}/bin/spark-submit"
            return [
                submit, "--conf", f"spark.driver.bindAddress={address}", "--conf", f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}",
                "--deploy-mode", "client", *rest,
            ]  # fmt: skip
        case ["executor"]:
            memory = environment["SPARK_EXECUTOR_MEMORY"]
            jars = f"{environment.get('SPARK_CLASSPATH', '')}:{environment['SPARK_HOME']}/jars/*"
            return [
                f"{environment['JAVA_HOME']}/bin/java", *java_options(environment), f"-Xms{memory}", f"-Xmx{memory}", "-cp", jars.lstrip(":"), BACKEND,
                "--driver-url", environment["SPARK_DRIVER_URL"], "--executor-id", environment["SPARK_EXECUTOR_ID"],
                "--cores", environment["SPARK_EXECUTOR_CORES"], "--app-id", environment["SPARK_APPLICATION_ID"],
                "--hostname", environment["SPARK_EXECUTOR_POD_IP"], "--resourceProfileId", environment["SPARK_RESOURCE_PROFILE_ID"],
                "--podName", environment["SPARK_EXECUTOR_POD_NAME"],
            ]  # fmt: skip
        case [_, *_] as other:
            return other
        case _:
            return ["kraft-pipeline", "--help"]


def java_options(environment: Mapping[str, str]) -> list[str]:
    """SPARK_JAVA_OPT_0, _1, ... in the order of their numbers."""
    numbered = {int(found[1]): value for name, value in environment.items() if (found := _OPTION.fullmatch(name))}
    return [numbered[number] for number in sorted(numbered)]


def main() -> None:
    words = command(sys.argv[1:], os.environ)
    os.execvp(words[0], words)  # noqa: S606  it becomes the program, signals and all


if __name__ == "__main__":
    main()
