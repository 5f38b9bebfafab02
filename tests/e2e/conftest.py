"""One Kubernetes for all end-to-end tests of a run, with our resource definition installed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from deploy.images import build
from support import sampling
from support.devcluster import why_no_kubernetes, why_not_here
from support.java_kafka import class_path
from support.kubernetes import CUSTOM_RESOURCE, ROOT, Kubernetes, kubernetes_under_test

STORIES = (
    ("test_operator_cluster.py", "[runtime]"),
    ("test_operator_cluster.py", "[apache-kafka]"),
)
"""The long story is told with one of the images in `make test`, with both in `make soak`."""
DISKS = ("test_operator_disks.py", "test_storage_identity.py", "test_operator_fence.py")
"""Of the stories about disks and fences, `make test` runs one."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make test` has ten minutes for this layer: of the long stories the run's seed chooses. A story that was asked for by name is run."""
    asked = any(name in argument for argument in config.args for name in (*DISKS, STORIES[0][0]))
    if os.environ.get("QUORATE_SOAK") or asked:
        return
    seed = sampling.run_seed()
    image, disk = STORIES[seed % len(STORIES)][1], DISKS[seed % len(DISKS)]
    left_out = [item for item in items if _is_left_out(item, image, disk)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
        config.stash[sampling.ACCOUNT].append(
            f"the operator's story with image {image}, {disk} of {len(DISKS)} (seed {seed})"
        )


def _is_left_out(item: pytest.Item, image: str, disk: str) -> bool:
    if item.path.name == STORIES[0][0]:
        return image not in item.name
    return item.path.name in DISKS and item.path.name != disk


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
    """Installed and served."""
    definition = yaml.safe_load((ROOT / "crds" / "kraftclusters.yaml").read_text())
    kubernetes.gateway.apply(CUSTOM_RESOURCE, definition)
    for _ in range(100):
        found = kubernetes.gateway.get(CUSTOM_RESOURCE, None, definition["metadata"]["name"])
        conditions = {each["type"]: each["status"] for each in (found.get("status") or {}).get("conditions") or []}
        if conditions.get("Established") == "True":
            return
        time.sleep(0.1)
    pytest.fail("the resource definition was not established within 10 s")


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
