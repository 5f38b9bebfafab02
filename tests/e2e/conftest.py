"""One Kubernetes for all end-to-end tests of a run, with our resource definition installed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.images import build
from support import sampling
from support.apache_kafka.java_kafka import class_path
from support.kubernetes import stories
from support.kubernetes.cluster import CUSTOM_RESOURCE, ROOT, Kubernetes, kubernetes_under_test
from support.kubernetes.devcluster import why_no_kubernetes, why_not_here

TOOK: dict[str, float] = {}
"""Seconds of every test of this run, its fixtures included."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make test` has ten minutes for this layer: of the long stories the run's seed chooses. What was asked for by
    name is run.
    """
    mine = [item for item in items if Path(__file__).parent in item.path.parents]
    if unlisted := sorted({item.path.name for item in mine if stories.told_by(item.path.name, item.name) is None}):
        raise pytest.UsageError(stories.advice(unlisted))
    asked = any(".py" in argument for argument in config.args)
    if not mine or os.environ.get("QUORATE_SOAK") or asked:
        return
    seed = sampling.run_seed()
    chosen = stories.chosen(seed)
    left_out = [item for item in mine if stories.told_by(item.path.name, item.name) not in chosen]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    told = ", ".join(str(story) for story in chosen if not story.always)
    config.stash[sampling.ACCOUNT].append(
        f"{len(chosen)} of {len(stories.STORIES)} stories (seed {seed}): those that are told always, and {told}"
    )


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    TOOK[report.nodeid] = TOOK.get(report.nodeid, 0.0) + report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What each story took beside what it is listed with, so that the list can be kept true."""
    clusters: dict[tuple[str, str], float] = {}
    listed: dict[tuple[str, str], set[stories.Story]] = {}
    for nodeid, seconds in TOOK.items():
        file, _, test = nodeid.rpartition("/")[2].partition("::")
        if (story := stories.told_by(file, test)) is not None:
            clusters[story.cluster] = clusters.get(story.cluster, 0.0) + seconds
            listed.setdefault(story.cluster, set()).add(story)
    for cluster, seconds in sorted(clusters.items(), key=lambda each: -each[1]):
        expected = stories.FORMING.get(cluster, 0) + sum(story.seconds for story in listed[cluster])
        terminalreporter.write_line(f"took {seconds:5.0f} s, listed with {expected:4} s: {' '.join(cluster)}")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What takes minutes the first time on a machine is built before the first test, whose time is bounded."""
    in_this_folder = any(Path(__file__).parent in item.path.parents for item in session.items)
    if session.config.option.collectonly or not in_this_folder or why_not_here():
        return
    subprocess.run([sys.executable, str(ROOT / "deploy" / "devcluster"), "build"], check=True)
    if os.environ.get("QUORATE_E2E_IMAGES") != "loaded":
        class_path()  # fetches Apache Kafka's jars
        subprocess.run([sys.executable, str(ROOT / "deploy" / "images"), *build.NAMES], check=True)


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Kubernetes]:
    """A machine that cannot carry one is named, and with CI set it is a failure."""
    if reason := why_no_kubernetes():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with kubernetes_under_test() as found:
        yield found


@pytest.fixture(scope="session")
def resource_definition(kubernetes: Kubernetes) -> None:
    """Installed and served, both."""
    for name in ("kraftclusters", "kraftoperations", "kraftusers"):
        install(kubernetes, yaml.safe_load((ROOT / "crds" / f"{name}.yaml").read_text()))


def install(kubernetes: Kubernetes, definition: dict[str, Any]) -> None:
    kubernetes.gateway.apply(CUSTOM_RESOURCE, definition)
    for _ in range(600):
        found = kubernetes.gateway.get(CUSTOM_RESOURCE, None, definition["metadata"]["name"])
        conditions = {each["type"]: each["status"] for each in (found.get("status") or {}).get("conditions") or []}
        if conditions.get("Established") == "True":
            return
        time.sleep(0.1)
    pytest.fail(f"{definition['metadata']['name']} was not established within a minute")


@pytest.fixture(scope="session")
def images(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Builds an image from this work tree, puts it on every node, once a run, and says its name in a pod.

    QUORATE_E2E_IMAGES=loaded says that somebody saw to that already; with QUORATE_E2E_CONTEXT it must be so, and
    QUORATE_E2E_REGISTRY says under which prefix that cluster finds them.
    """
    registry = os.environ.get("QUORATE_E2E_REGISTRY")
    loaded = os.environ.get("QUORATE_E2E_IMAGES") == "loaded" or kubernetes.context is not None
    folder = tmp_path_factory.mktemp("images")
    done: dict[str, str] = {}

    def provide(name: str) -> str:
        if name not in done and not loaded:
            devcluster = (sys.executable, str(ROOT / "deploy" / "devcluster"))
            checked(devcluster[0], str(ROOT / "deploy" / "images"), "--output", str(folder), name)
            checked(*devcluster, "load", str(folder / f"{name}.tar"))
            (folder / f"{name}.tar").unlink()
        done[name] = build.reference(name) if registry is None else f"{registry}/{name}:dev"
        return done[name]

    return provide


def checked(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout}{ran.stderr}"


@pytest.fixture(scope="session")
def operator_image(images: Callable[[str], str]) -> None:
    """The guards' image from this work tree, and the nodes', on every node."""
    images("operator")
    images("apache-kafka")
