"""docs/operations/install.md, followed command by command on a Kubernetes where nothing of ours runs.

Every block of commands is given to a shell as it stands, in the order of the page; of it all, the test replaces the
first block alone, which says where the images are.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.kubernetes.cluster import CUSTOM_RESOURCE, ROOT, Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

PAGE = ROOT / "docs" / "operations" / "install.md"
DEFINITIONS = ("kraftclusters", "kraftoperations", "kraftusers")


def blocks() -> list[tuple[str, str]]:
    """The heading above each block of commands, and the block."""
    heading, found = "", []
    for part in re.split(r"^(## [^\n]*|```sh\n.*?^```)$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL):
        if part.startswith("## "):
            heading = part.removeprefix("## ")
        elif part.startswith("```sh\n"):
            found.append((heading, part.removeprefix("```sh\n").removesuffix("```")))
    return found


@pytest.fixture
def shell(kubernetes: Kubernetes, images: Images, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment whose `kubectl` and `helm` are the test's Kubernetes'. Nothing of the page stays in it."""
    for name, command in (("kubectl", kubernetes.kubectl_command), ("helm", kubernetes.helm_command)):
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
        script.chmod(0o755)
    repository, _, tag = images("operator").rpartition(":")
    runtime = images("runtime").rpartition(":")[0]
    yield {
        **os.environ,
        "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OPERATOR": repository,
        "RUNTIME": runtime,
        "VERSION": tag,
        "CLASS": "standard",
    }
    names = ("-l", "app.kubernetes.io/part-of=kraft-operator", "--ignore-not-found")
    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy", "clusterrolebinding", "clusterrole"):
        kubernetes.kubectl("delete", kind, *names)
    for namespace in ("kafka", "kraft-operator"):
        kubernetes.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s")
    for definition in DEFINITIONS:
        text = (ROOT / "crds" / f"{definition}.yaml").read_text()
        kubernetes.gateway.apply(CUSTOM_RESOURCE, yaml.safe_load(text))


def test_the_page_is_followed_from_nothing_to_a_cluster_in_production(
    kubernetes: Kubernetes, shell: dict[str, str], tmp_path: Path
) -> None:
    for definition in DEFINITIONS:  # of other tests: a Kubernetes to begin with has none
        kubernetes.kubectl("delete", "crd", f"{definition}.kraft.quorate.dev", "--ignore-not-found", "--timeout=120s")
    (first, *others) = blocks()
    assert [line.partition("=")[0] for line in first[1].split() if "=" in line] == [
        "OPERATOR", "RUNTIME", "VERSION", "CLASS"
    ], "the test says these itself"  # fmt: skip
    assert len(others) > 6
    (tmp_path / "charts").symlink_to(ROOT / "charts")
    for heading, text in others:
        done = subprocess.run(
            ("bash", "-euo", "pipefail", "-c", text),
            cwd=tmp_path, env=shell, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{heading}\n{text}\n{done.stdout}{done.stderr}"
    pods = kubernetes.kubectl("get", "pods", "-n", "kafka", "--no-headers").splitlines()
    assert len([line for line in pods if "Running" in line]) == 6, pods
    assert "tls.key" in (tmp_path / "prod-ca.yaml").read_text()
