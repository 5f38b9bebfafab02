"""The Spark image's entrypoint becomes the right program, and the examples name what exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.images import spec
from metadata_pipeline.cli import parser
from metadata_pipeline.container import command, launched, launcher, scala_version

SPARK = Path(__file__).parents[3] / "deploy" / "spark"
ENVIRONMENT = {
    "SPARK_HOME": "/spark", "JAVA_HOME": "/java", "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.1",
    "SPARK_EXECUTOR_MEMORY": "1g",
    "SPARK_DRIVER_URL": "spark://d", "SPARK_EXECUTOR_ID": "1", "SPARK_EXECUTOR_CORES": "2", "SPARK_APPLICATION_ID": "a",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2", "SPARK_RESOURCE_PROFILE_ID": "0", "SPARK_EXECUTOR_POD_NAME": "p",
    "SPARK_JAVA_OPT_10": "-Dlast", "SPARK_JAVA_OPT_2": "-Dfirst",
}  # fmt: skip


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((SPARK / name).read_text()))


def test_a_driver_becomes_spark_submit_in_client_mode() -> None:
    words = command(["driver", "--class", "X"], ENVIRONMENT)
    assert words[0] == "/spark/bin/spark-submit"
    assert words[-4:] == ["--deploy-mode", "client", "--class", "X"]


def test_an_executor_becomes_its_backend_with_its_options_in_order() -> None:
    words = command(["executor"], ENVIRONMENT)
    assert words[:5] == ["/java/bin/java", "-Dfirst", "-Dlast", "-Xms1g", "-Xmx1g"]
    assert words[words.index("--podName") + 1] == "p"


def test_a_setting_that_spark_did_not_give_is_named() -> None:
    with pytest.raises(KeyError, match="SPARK_EXECUTOR_MEMORY"):
        command(["executor"], {})


def test_anything_else_is_run_as_it_is() -> None:
    assert command(["kraft-pipeline", "dump"], {}) == ["kraft-pipeline", "dump"]


def test_a_submission_becomes_what_sparks_launcher_says() -> None:
    assert launcher(["--name", "n", "x.py"], ENVIRONMENT)[-4:] == [
        "org.apache.spark.deploy.SparkSubmit",
        "--name",
        "n",
        "x.py",
    ]
    assert launched(b"a warning\n\0\n/java/bin/java\0-cp\0a b\0x\ny\0") == ["/java/bin/java", "-cp", "a b", "x\ny"]


def test_sparks_launcher_is_told_which_scala_its_jars_are_of(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.3.0.jar").touch()
    assert scala_version(tmp_path) == "2.13"


@pytest.mark.parametrize("told", [b"", b"Error: no\n", b"\0\ncut off"])
def test_a_launcher_that_gave_no_command_is_told_apart(told: bytes) -> None:
    with pytest.raises(ValueError, match=r"no|said nothing|cut off"):
        launched(told)


def test_the_examples_use_one_image_one_account_and_a_program_that_the_image_has() -> None:
    (application,) = documents("spark-application.yaml")
    account, role, binding = documents("rbac.yaml")
    assert (
        account["metadata"]["name"] == application["spec"]["driver"]["serviceAccount"] == binding["subjects"][0]["name"]
    )
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert application["spec"]["image"] == spec.SPARK.reference
    program = application["spec"]["mainApplicationFile"]
    assert program.removeprefix("local://") in {each.path for each in spec.SPARK.programs}
    assert program.endswith(".py"), "else Spark takes it for a jar"
    parser().parse_args(application["spec"]["arguments"])
    readme = (SPARK / "README.md").read_text()
    assert {application["spec"]["image"], program} <= set(re.findall(r"[\w:/.-]+", readme))


def test_the_operators_example_is_a_whole_spark_application() -> None:
    """By the fields that the Kubeflow operator's v1beta2 requires; the operator itself is not run here."""
    (application,) = documents("spark-application.yaml")
    assert (application["apiVersion"], application["kind"]) == ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
    body = application["spec"]
    assert {"type", "mode", "sparkVersion", "mainApplicationFile", "driver", "executor"} <= body.keys()
    volumes = {volume["name"] for volume in body["volumes"]}
    for role in ("driver", "executor"):
        assert {mount["name"] for mount in body[role]["volumeMounts"]} <= volumes
        assert (
            body[role]["securityContext"]
            == documents("pod-template.yaml")[0]["spec"]["containers"][0]["securityContext"]
        )


def test_the_pods_are_what_restricted_pod_security_asks_for() -> None:
    (template,) = documents("pod-template.yaml")
    (container,) = template["spec"]["containers"]
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    assert template["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    user, group = map(int, spec.USER.split(":"))
    assert (template["spec"]["securityContext"]["runAsUser"], template["spec"]["securityContext"]["fsGroup"]) == (
        user,
        group,
    )
