"""The Spark image's entrypoint becomes the right program, and the examples name what exists."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import yaml

SPARK = Path(__file__).parents[3] / "deploy" / "spark"


@pytest.fixture(scope="module")
def entrypoint() -> ModuleType:
    spec = importlib.util.spec_from_file_location("spark_entrypoint", SPARK / "entrypoint.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ENVIRONMENT = {
    "SPARK_HOME": "/spark", "JAVA_HOME": "/java", "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.1", "SPARK_EXECUTOR_MEMORY": "1g",
    "SPARK_DRIVER_URL": "spark://d", "SPARK_EXECUTOR_ID": "1", "SPARK_EXECUTOR_CORES": "2", "SPARK_APPLICATION_ID": "a",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2", "SPARK_RESOURCE_PROFILE_ID": "0", "SPARK_EXECUTOR_POD_NAME": "p",
    "SPARK_JAVA_OPT_10": "-Dlast", "SPARK_JAVA_OPT_2": "-Dfirst",
}  # fmt: skip


def test_a_driver_becomes_spark_submit_in_client_mode(entrypoint: ModuleType) -> None:
    words = entrypoint.command(["driver", "--class", "X"], ENVIRONMENT)
    assert words[0] == "/spark/bin/spark-submit"
    assert words[-4:] == ["--deploy-mode", "client", "--class", "X"]


def test_an_executor_becomes_its_backend_with_its_options_in_order(entrypoint: ModuleType) -> None:
    words = entrypoint.command(["executor"], ENVIRONMENT)
    assert words[:5] == ["/java/bin/java", "-Dfirst", "-Dlast", "-Xms1g", "-Xmx1g"]
    assert words[words.index("--podName") + 1] == "p"


def test_anything_else_is_run_as_it_is(entrypoint: ModuleType) -> None:
    assert entrypoint.command(["kraft-pipeline", "dump"], {}) == ["kraft-pipeline", "dump"]


def test_the_examples_use_one_image_and_one_account() -> None:
    application = yaml.safe_load((SPARK / "spark-application.yaml").read_text())
    account, role, binding = yaml.safe_load_all((SPARK / "rbac.yaml").read_text())
    assert (
        application["spec"]["driver"]["serviceAccount"] == account["metadata"]["name"] == binding["subjects"][0]["name"]
    )
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert application["spec"]["image"] in (SPARK / "README.md").read_text()
    assert application["spec"]["image"] in (SPARK / "Dockerfile").read_text()
