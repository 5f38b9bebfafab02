"""One Kubernetes for all end-to-end tests of a run, with our resource definition installed."""

from __future__ import annotations

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
