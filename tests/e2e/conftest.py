"""One Kubernetes for all end-to-end tests of a run, with our resource definition installed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import yaml

from support.kubernetes import CUSTOM_RESOURCE, ROOT, Kubernetes, kubernetes_under_test


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Kubernetes]:
    with kubernetes_under_test() as found:
        yield found


@pytest.fixture(scope="session")
def resource_definition(kubernetes: Kubernetes) -> None:
    """Installed and served."""
    definition = yaml.safe_load((ROOT / "crds" / "kraftclusters.yaml").read_text())
    kubernetes.gateway.apply(CUSTOM_RESOURCE, definition)
    for _ in range(100):
        found = kubernetes.gateway.get(CUSTOM_RESOURCE, None, definition["metadata"]["name"])
        conditions = {each["type"]: each["status"] for each in found.get("status", {}).get("conditions", [])}
        if conditions.get("Established") == "True":
            return
        time.sleep(0.1)
    pytest.fail("the resource definition was not established within 10 s")


@pytest.fixture(scope="session")
def operator_image(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The guards' image from this work tree, on every node; QUORATE_E2E_IMAGES=loaded when somebody saw to that already."""
    if os.environ.get("QUORATE_E2E_IMAGES") == "loaded" or kubernetes.context is not None:
        return
    folder = tmp_path_factory.mktemp("images")
    build = [sys.executable, str(ROOT / "deploy" / "images"), "--output", str(folder), "operator"]
    subprocess.run(build, check=True, capture_output=True)
    load = [sys.executable, str(ROOT / "deploy" / "devcluster"), "load", str(folder / "operator.tar")]
    subprocess.run(load, check=True, capture_output=True)
