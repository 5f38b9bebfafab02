"""One Spark session for all tests here, and one lake with a whole fleet in it: starting Spark and every job cost more
than most tests.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from metadata_pipeline.problems import PipelineError
from metadata_pipeline.session import find_java, open_session
from metadata_pipeline.spark_classes import SparkClasses
from support import sampling
from support.pipeline.connect_run import Running
from support.pipeline.everything import Everything, make_everything

SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.memory": "1g",
}
"""For tables of a few thousand rows: planning is what costs, and Java written and compiled for each query. On
Kubernetes (tests/e2e) Spark is as users have it.
"""

SAMPLED = (
    sampling.Sometimes("test_spark_connect.py", "every job over Spark Connect", 3, 0),
    sampling.Sometimes("test_executor_killed.py", "an executor killed while it writes", 3, 1),
    sampling.Sometimes("test_data_source_quorums.py", "living quorums by the data source", 3, 2),
    sampling.Sometimes("test_demo.py", "make demo-pipeline", 8, 0),
    sampling.Sometimes("test_full_disk.py", "tables on a full disk", 8, 2),
    sampling.Sometimes("test_tables_go_on.py", "histories that go on, and made whole", 0),
)
"""Each starts another Spark, or waits for who is away, and takes a minute of the stage's four. The last one takes four
alone: it is told by `make soak`, and in a short form when it is asked for by name.
"""

TURNS = {
    "test_the_ten_questions_of_the_page_have_names_and_the_same_answers": 4,
    "test_every_question_is_listed_and_answered_for_a_whole_fleet": 4,
}
"""A minute each, for a dozen commands that plan: one seed in so many tells each."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    sampling.leave_out(config, items, SAMPLED)
    sampling.take_turns(config, items, lambda item: TURNS.get(item.name, 1))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """`local[2]`, quiet and small. Skipped where there is no Java."""
    try:
        classes = SparkClasses("driver", find_java()[0])
        session = open_session("local[2]", {**SMALL, "spark.driver.extraJavaOptions": classes.options})
    except PipelineError as missing:
        pytest.skip(str(missing))
    yield session
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.proc.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        gateway.proc.wait(120)  # the end of its JVM: it may leave its classes
        classes.keep()


@pytest.fixture(scope="session")
def connect_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("connect"))
    yield running
    running.close()


@pytest.fixture(scope="session", autouse=True)
def begun_beside(request: pytest.FixtureRequest) -> None:
    """The run on Spark Connect is begun before the first test, and looked at after the last: it waits for one
    processor, they for another.
    """
    if any("connect_run" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("connect_run")


@pytest.fixture(scope="session")
def everything(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, run_seed: int, request: pytest.FixtureRequest
) -> Everything:
    """A fleet of clean, broken, random and golden logs after ingest, tables and audit."""
    request.config.stash[sampling.ACCOUNT].append(f"fleets of logs: QUORATE_SEED={run_seed}")
    many = bool(os.environ.get("QUORATE_SOAK"))
    root, lake = tmp_path_factory.mktemp("fleet"), tmp_path_factory.mktemp("lake")
    return make_everything(spark, root, lake, run_seed, clean=1000 if many else 24, each_fault=40 if many else 2)
