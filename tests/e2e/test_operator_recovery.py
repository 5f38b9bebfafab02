"""A quorum that lost its majority, made anew on a real Kubernetes from what is left of its log; told as one story in
order.

The real plugin asks, the real operator holds, judges and acts through helper pods, and is killed between its steps.
Nothing that was acknowledged is lost where a copy has it, nothing is touched before the verdict is approved, and the
old generation is refused for ever.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import CLAIM, OPERATION
from kraft_operator.plugin.recover import recover
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Object, Story, eventually, pool
from support.kubernetes.succession import Succession, succession

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

BIN = "/opt/kafka/bin"


@pytest.fixture(scope="module", params=["runtime", "apache-kafka"])
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, request: pytest.FixtureRequest
) -> Iterator[Story]:
    """The same story with the bundled runtime, and with Apache Kafka's own."""
    with kubernetes.namespace("op-recover") as namespace:
        yield Story(kubernetes, namespace, images(request.param))


@pytest.fixture(scope="module")
def operators(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Succession]:
    with succession(story.namespace, tmp_path_factory.mktemp("operators"), images, 19620) as found:
        story.apply(brokerPools=[pool(2)], recoveryPolicy={"debounce": "2s"})
        story.await_ready()
        yield found


def topics(story: Story, *command: str) -> str:
    bootstrap = ("--bootstrap-server", f"{story.name}-bootstrap:9092")
    pod = f"{story.name}-b-100-0"
    return story.kubernetes.kubectl(
        "-n", story.namespace, "exec", pod, "-c", "kafka", "--", f"{BIN}/kafka-topics.sh", *bootstrap, *command
    )


def create(story: Story, *names: str) -> None:
    for name in names:
        topics(story, "--create", "--topic", name, "--replica-assignment", "100")


def described(story: Story, name: str) -> str:
    return topics(story, "--describe", "--topic", name).splitlines()[0]


def lose(story: Story, *node_ids: int) -> None:
    """Claims and what is on them, all at once."""
    for node_id in node_ids:
        story.delete_claim(f"data-{story.name}-controller-{node_id}-0")
    for node_id in node_ids:
        story.delete_pod(f"{story.name}-controller-{node_id}-0")


def operation(story: Story) -> Object:
    found = story.kubernetes.gateway.list(OPERATION, story.namespace)
    newest: Object = max(found, key=lambda each: str(each["metadata"]["creationTimestamp"]))
    return newest


def ask(story: Story, approve: str | None = None) -> str:
    """`kubectl kraft recover`, by its function."""
    said: list[str] = []
    assert recover(story.kubernetes.gateway, story.namespace, story.name, approve, 420, said.append) == 0, said
    return "\n".join(said)


def test_two_of_three_lost_with_the_leader_are_recovered_after_approval(
    story: Story, operators: Succession, sampled: Callable[[str], None], tmp_path: Path
) -> None:
    create(story, "one", "two", "three")
    before = {name: described(story, name) for name in ("one", "two", "three")}
    old = story.voters()
    leader = story.resource()["status"]["quorum"]["leaderID"]
    other = next(each for each in (0, 1, 2) if each != leader)
    survivor = next(each for each in (0, 1, 2) if each not in (leader, other))
    lose(story, leader, other)
    found = story.await_condition("ManualInterventionRequired", "True", "QuorumLost", 180)
    assert f"kubectl kraft recover {story.name} -n {story.namespace}" in found["message"]

    said = ask(story)
    verdict = operation(story)["status"]["verdict"]
    sampled(f"two of three lost: {verdict['verdict']}, {len(verdict['copies'])} copies, seed {verdict['seed']}")
    assert verdict["hash"] in said
    assert {each["nodeID"] for each in verdict["copies"]} == {survivor, 100, 101}
    assert verdict["verdict"] in ("NoObservedLoss", "Unknown")
    assert {node: story.directories()[node] for node in old} == {node: each[0] for node, each in old.items()}
    assert not [each for each in story.pods() if each.startswith(f"{story.name}-controller-")], "they are not held"
    waiting = story.await_condition("ManualInterventionRequired", "True", "RecoveryWaitsForApproval", 60)
    assert verdict["hash"] in waiting["message"]

    # The operator dies right before and right after it makes the helper that makes the new quorum; the third one
    # finishes.
    for failpoint in ("before_call.helper=exit", "after_call.helper=exit"):
        doomed = operators.start(failpoint)
        meta = operation(story)["metadata"]
        marks = {"kraft.quorate.dev/approve": verdict["hash"]}
        story.kubernetes.gateway.annotate(OPERATION, story.namespace, meta["name"], marks, uid=meta["uid"])
        eventually(f"the operator ends at {failpoint}", doomed.ended, 240)
    operators.start()
    done = eventually("the recovery ends", lambda: finished(story), 300)
    assert done["phase"] == "Succeeded", done
    assert verdict["hash"] in done["proof"]
    story.await_ready()
    new = story.voters()
    assert {state for _, state in new.values()} == {"Live"}
    assert not {each[0] for each in new.values()} & {each[0] for each in old.values()}
    assert story.ledger()["generation"] == 2
    assert {name: described(story, name) for name in before} == before
    create(story, "four")


def finished(story: Story) -> Object | None:
    status: Object = operation(story)["status"]
    return status if status["phase"] in ("Succeeded", "Failed", "Rejected", "Cancelled") else None


def test_all_controllers_lost_are_recovered_from_a_broker(story: Story, operators: Succession) -> None:
    create(story, "seen", "by-brokers")
    names = topics(story, "--list").split()
    before = {name: described(story, name) for name in names}
    assert {"seen", "by-brokers"} <= set(names)
    lose(story, 0, 1, 2)
    story.await_condition("ManualInterventionRequired", "True", "QuorumLost", 180)
    ask(story)
    verdict = operation(story)["status"]["verdict"]
    assert verdict["seed"] in (100, 101)
    assert {each["role"] for each in verdict["copies"]} == {"Broker"}
    said = ask(story, verdict["hash"])
    assert "Succeeded: generation" in said
    story.await_ready()
    assert {name: described(story, name) for name in names} == before
    assert {state for _, state in story.voters().values()} == {"Live"}
    create(story, "five")


def claim_uid(story: Story, node_id: int) -> str:
    found = story.kubernetes.gateway.get(CLAIM, story.namespace, f"data-{story.name}-controller-{node_id}-0")
    return str(found["metadata"]["uid"])


def test_a_live_voter_gets_another_disk_because_somebody_asks(story: Story, operators: Succession) -> None:
    story.await_ready()
    before, claim = story.voters(), claim_uid(story, 1)
    spec = {"clusterName": story.name, "type": "ReplaceVoter", "nodeID": 1}
    meta = {"name": "another-disk", "namespace": story.namespace}
    body: Object = {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": meta, "spec": spec}
    story.kubernetes.gateway.create(OPERATION, story.namespace, body)
    done = eventually("the voter is replaced", lambda: finished(story), 300)
    assert done["phase"] == "Succeeded", done
    assert [each["state"] for each in done["steps"]] == ["Done"] * 4
    after = story.voters()
    assert after[1][0] != before[1][0]
    assert {node: after[node] for node in (0, 2)} == {node: before[node] for node in (0, 2)}
    assert claim_uid(story, 1) != claim
    assert before[1][0] in done["proof"]
    story.await_ready()


def asleep(story: Story) -> None:
    story.apply(lifecycle={"state": "Hibernated"})
    prefix = f"{story.name}-controller-"
    eventually("the controllers sleep", lambda: not [each for each in story.pods() if each.startswith(prefix)], 240)


def test_an_old_majority_that_returns_is_refused(
    story: Story, operators: Succession, kubernetes: Kubernetes, tmp_path: Path
) -> None:
    """Two controllers' disks of the generation before are put where the new ones are."""
    if kubernetes.context is not None:
        pytest.skip("the disks of another cluster are out of reach")
    asleep(story)
    kept = {}
    for node_id in (0, 1):
        root = story.disk(node_id)
        kept[node_id] = root.with_name(root.name + ".kept")
        subprocess.run(["cp", "-a", str(root), str(kept[node_id])], check=True)
    # The new generation is of one voter again, made of node 2's copy; nodes 0 and 1 get new directories.
    story.apply(lifecycle={"state": "Running"})
    story.await_ready()
    lose(story, 0, 1)
    story.await_condition("ManualInterventionRequired", "True", "QuorumLost", 180)
    ask(story)
    ask(story, operation(story)["status"]["verdict"]["hash"])
    story.await_ready()
    before = story.directories()
    asleep(story)
    aside = {}
    for node_id in (0, 1):
        root = story.disk(node_id)
        aside[node_id] = root.with_name(root.name + ".aside")
        shutil.move(root, aside[node_id])
        shutil.move(kept[node_id], root)
    story.apply(lifecycle={"state": "Running"})
    found = story.await_condition("StorageHealthy", "False", "ForeignVolume", 180)
    for node_id in (0, 1):
        assert f"{story.name}-controller-{node_id}-0" in found["message"]
    assert story.condition("QuorumAvailable")["status"] != "True"
    assert story.directories() == before
    asleep(story)
    for node_id in (0, 1):
        root = story.disk(node_id)
        shutil.rmtree(root)
        shutil.move(aside[node_id], root)
    story.apply(lifecycle={"state": "Running"})
    story.await_ready()
    assert story.directories() == before
