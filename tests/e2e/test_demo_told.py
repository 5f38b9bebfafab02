"""`make demo` as its reader sees it: on a Kubernetes of its own that it starts, and on a context that the
user names.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.kubernetes.cluster import ROOT
from support.kubernetes.devcluster import Devcluster, remains, why_not_here

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]


@pytest.fixture(scope="module")
def machine() -> Iterator[Devcluster]:
    """A cluster that nobody has started yet; ended whatever happens, and not a trace of it left."""
    own = Devcluster(f"demo{secrets.token_hex(2)}")
    yield own
    instance = own.instance
    own.run("down")
    assert remains(instance) == []


def demo(**environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deploy.demo"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DEMO_")}
    return subprocess.run(
        command, cwd=ROOT, env={**clean, **environment}, capture_output=True, text=True, check=False, timeout=1100
    )


@pytest.fixture(scope="module")
def told(machine: Devcluster) -> str:
    done = demo(QUORATE_DEVCLUSTER_NAME=machine.name)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_last_line_is_the_count_of_the_client(told: str) -> None:
    assert told.splitlines()[-1] == "10,000 of 10,000"


def test_every_step_is_a_sentence_with_its_time_in_the_order_of_the_story(told: str) -> None:
    sentences = [line for line in told.splitlines() if re.match(r" *\d+\.\d s  [A-Z]?", line)]
    times = [float(line.split()[0]) for line in sentences]
    assert times == sorted(times)
    story = [
        "A Kubernetes is needed", "The images are there", "The operator runs", "elected a leader",
        "brokers have registered", "Nobody asked for security", "A client without a login", "It may log in",
        "nobody here wrote", "is deleted while the client writes",
        "has returned with its disk", "read every one",
    ]  # fmt: skip
    found = [next(index for index, line in enumerate(sentences) if part in line) for part in story]
    assert found == sorted(found)


def test_the_cluster_is_secure_by_default_and_a_client_without_a_login_is_refused(
    told: str, machine: Devcluster
) -> None:
    """Issue 16: the resource says nothing of security; one client has the Secret of a KRaftUser, one has not."""
    ways = [line.partition("· ")[2] for line in told.splitlines() if ": refused (" in line]
    assert [each.partition(":")[0] for each in ways] == [
        "in plaintext", "by TLS without a login", "as the user, with a password that is guessed"
    ]  # fmt: skip
    assert "refused in 3 of 3 ways" in told
    found = json.loads(machine.kubectl("-n", "quorate-demo", "get", "kraftcluster", "quickstart", "-o", "json"))
    assert "security" not in found["spec"]
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]}["Secure"] == "True"


def test_the_pod_was_deleted_while_records_were_still_being_written(told: str) -> None:
    lines = told.splitlines()
    deleted = next(index for index, line in enumerate(lines) if "is deleted while" in line)
    assert any("wrote 3,000" in line for line in lines[:deleted])
    assert any("wrote 10,000" in line for line in lines[deleted:])


def test_a_controller_was_really_replaced_and_the_quorum_has_all_three(told: str, machine: Devcluster) -> None:
    victim = re.search(r"pod, (quickstart-controller-\d-0), is deleted", told)
    assert victim is not None
    pods = json.loads(machine.kubectl("-n", "quorate-demo", "get", "pods", "-o", "json"))["items"]
    created = {
        pod["metadata"]["name"]: pod["metadata"]["creationTimestamp"]
        for pod in pods
        if "controller" in pod["metadata"]["name"]
    }
    assert len(created) == 3
    assert created[victim[1]] == max(created.values())
    assert len(set(created.values())) > 1


def test_the_end_says_how_to_look_around_and_how_to_stop(told: str, machine: Devcluster) -> None:
    prefix = f"python deploy/devcluster --name {machine.name}"
    assert f"{prefix} down" in told
    status = re.search(rf"{prefix} kubectl (.*describe --status)", told)
    assert status is not None
    assert "LeaderId:" in machine.kubectl(*status[1].split())


def test_a_context_of_the_users_is_used_instead_and_a_second_telling_begins_anew(
    told: str, machine: Devcluster
) -> None:
    """The user's cluster is played by the one that is there: reached by kubeconfig and context alone, images on its
    nodes.
    """
    instance = machine.instance
    done = demo(
        DEMO_CONTEXT=f"quorate-{machine.name}", DEMO_REGISTRY="localhost/quorate", KUBECONFIG=str(instance.kubeconfig),
        PATH=f"{instance.binaries}:{os.environ['PATH']}",
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "The images are expected in localhost/quorate." in done.stdout
    assert "devcluster" not in done.stdout
    assert done.stdout.splitlines()[-1] == "10,000 of 10,000"
