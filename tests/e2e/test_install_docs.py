"""docs/operations/install.md, followed command by command on a Kubernetes where nothing of ours runs.

Every block of commands is given to a shell as it stands, in the order of the page; the tests replace the first block
alone, which says where the images are. The second story goes on where the first one ends.
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


class Page:
    """How far it was followed. Nothing of it stays."""

    def __init__(self, kubernetes: Kubernetes, images: Images, folder: Path) -> None:
        self.kubernetes, self.folder, self.left = kubernetes, folder, blocks()
        for name, command in (("kubectl", kubernetes.kubectl_command), ("helm", kubernetes.helm_command)):
            script = folder / name
            script.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
            script.chmod(0o755)
        (folder / "charts").symlink_to(ROOT / "charts")
        repository, _, tag = images("operator").rpartition(":")
        said = {
            "OPERATOR": repository, "RUNTIME": images("runtime").rpartition(":")[0], "VERSION": tag, "CLASS": "standard"
        }  # fmt: skip
        path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, **said}
        (_, first) = self.left.pop(0)
        assert [line.partition("=")[0] for line in first.split() if "=" in line] == list(said), (
            "said by the test itself"
        )
        for definition in DEFINITIONS:  # of other tests: a Kubernetes to begin with has none
            name = f"{definition}.kraft.quorate.dev"
            kubernetes.kubectl("delete", "crd", name, "--ignore-not-found", "--timeout=120s")

    def follow(self, before: str) -> list[str]:
        """Every block of commands above this heading; the headings of what was done."""
        done = []
        while self.left and not self.left[0][0].startswith(before):
            heading, text = self.left.pop(0)
            ended = subprocess.run(
                ("bash", "-euo", "pipefail", "-c", text),
                cwd=self.folder, env=self.environment, check=False, capture_output=True, text=True,
            )  # fmt: skip
            assert ended.returncode == 0, f"{heading}\n{text}\n{ended.stdout}{ended.stderr}"
            done.append(heading)
        return done

    def running(self) -> int:
        pods = self.kubernetes.kubectl("get", "pods", "-n", "kafka", "--no-headers").splitlines()
        return len([line for line in pods if "Running" in line])

    def clear_away(self) -> None:
        names = ("-l", "app.kubernetes.io/part-of=kraft-operator", "--ignore-not-found")
        rights = ("clusterrolebinding", "clusterrole")
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy", *rights):
            self.kubernetes.kubectl("delete", kind, *names)
        for namespace in ("kafka", "kraft-operator"):
            self.kubernetes.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s")
        for definition in DEFINITIONS:
            text = (ROOT / "crds" / f"{definition}.yaml").read_text()
            self.kubernetes.gateway.apply(CUSTOM_RESOURCE, yaml.safe_load(text))


@pytest.fixture(scope="module")
def page(kubernetes: Kubernetes, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    found = Page(kubernetes, images, tmp_path_factory.mktemp("install"))
    yield found
    found.clear_away()


def test_the_page_is_followed_from_nothing_to_a_cluster_with_a_user_and_a_topic(page: Page) -> None:
    assert [each[:2] for each in page.follow("7.")] == ["1.", "2.", "3.", "4.", "5.", "6."]
    assert page.running() == 6
    assert "tls.key" in (page.folder / "prod-ca.yaml").read_text()


def test_the_page_is_followed_through_a_dead_pod_and_a_roll_to_the_way_out(page: Page) -> None:
    page.follow("7.")
    assert [each[:2] for each in page.follow("With rights in namespaces only")] == ["7.", "8."]
    assert page.running() == 6
