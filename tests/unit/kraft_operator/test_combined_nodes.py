"""Combined nodes: what they are made of, when one may stop, how one that lost its disk is replaced, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.actions import Action, GiveUpDisk, RemoveVoter
from kraft_operator.api.formed import formed_with
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.roles import COMBINED
from kraft_operator.plan.rollout.rolling import restart_gate
from kraft_operator.plan.situation import Decision, Topic
from kraft_operator.status import status
from support.operator_model.world import World, pool, resource

pytestmark = pytest.mark.unit


def controllers(replicas: int = 3, role: str = "Combined", **more: object) -> dict[str, object]:
    ids, storage = {"start": 0, "end": 9}, {"size": "1Gi"}
    return {"role": role, "replicas": replicas, "nodeIdRange": ids, "storage": storage} | more


def settled(replicas: int = 3) -> World:
    world = World(controllers=controllers(replicas), brokerPools=[])
    world.settle(80)
    return world


def edit(world: World, replicas: int = 3, role: str = "Combined", **more: object) -> None:
    world.edit(**{"controllers": controllers(replicas, role), "brokerPools": [], **more})


def reasons(decision: Decision) -> dict[str, str]:
    return {each.reason: each.message for each in decision.findings}


def done(world: World, rounds: int) -> list[Action]:
    world.writes.clear()
    for _ in range(rounds):
        world.reconcile()
        world.kubelet()
    return [each for each in world.writes if isinstance(each, RemoveVoter | GiveUpDisk)]


@pytest.mark.parametrize("replicas", [1, 3])
def test_they_form_as_voters_and_as_brokers(replicas: int) -> None:
    world = settled(replicas)
    assert set(world.voters) == world.registered == set(range(replicas))
    lines = world.children["ConfigMap", "c-controller-0"].live["data"]["server.properties"].splitlines()
    assert "process.roles=broker,controller" in lines
    assert "listeners=CONTROLLER://:9093,PLAINTEXT://:9092" in lines
    assert f"default.replication.factor={replicas}" in lines
    assert world.ledger is not None
    assert {each.role for each in world.ledger.entries} == {COMBINED.label}


def test_services_and_policies_of_both_roles_are_about_them() -> None:
    world = settled()
    role = {"kraft.quorate.dev/role": "combined"}
    assert role.items() <= world.children["Service", "c-bootstrap"].live["spec"]["selector"].items()
    policies = {name: world.children["NetworkPolicy", name].live for name in ("c-controllers", "c-brokers")}
    assert all(role.items() <= each["spec"]["podSelector"]["matchLabels"].items() for each in policies.values())
    ports = [[each["port"] for each in rule.get("ports", ())] for rule in policies["c-controllers"]["spec"]["ingress"]]
    assert ports == [[9093], [9404]]
    budgets = [each.live["spec"] for (kind, _), each in world.children.items() if kind == "PodDisruptionBudget"]
    assert [each["minAvailable"] for each in budgets] == [2]


def test_by_a_port_they_are_alive_when_the_controller_listens_and_ready_when_the_broker_does() -> None:
    world = World(controllers=controllers(), brokerPools=[], probes="TCP")
    world.reconcile()
    container = world.children["StatefulSet", "c-controller-0"].live["spec"]["template"]["spec"]["containers"][0]
    asked = {name: container[f"{name}Probe"]["tcpSocket"]["port"] for name in ("startup", "liveness", "readiness")}
    assert asked == {"startup": "controller", "liveness": "controller", "readiness": "plaintext"}
    assert container["ports"][0]["name"] == "plaintext"


def test_a_roll_goes_one_by_one_with_the_leader_last() -> None:
    world = settled()
    edit(world, image={"repository": "kafka", "tag": "2"})
    world.settle(80)
    assert world.restarts == [1, 2, 0]


def outdated() -> World:
    world = settled()
    edit(world, config={"broker": {"num.io.threads": "4"}})
    world.reconcile()
    world.restarts.clear()
    return world


def test_none_is_restarted_while_its_partitions_have_too_few_replicas_in_sync() -> None:
    world = outdated()
    world.at_risk = {1: ("steady-0",)}
    decision = world.reconcile()
    assert world.restarts == []
    assert "c-controller-1-0 waits for its restart: steady-0 would have" in reasons(decision)["RestartDeferred"]


def test_none_is_restarted_while_another_broker_does_not_serve() -> None:
    world = outdated()
    world.registered.discard(2)
    decision = world.plan()
    assert "broker 2 does not serve" in reasons(decision)["RestartDeferred"]


def test_none_is_restarted_while_the_other_voters_are_no_majority() -> None:
    world = settled()
    world.delete_pod(2)
    world.plan()
    now = world.situation()
    gates = {each.node_id: restart_gate(now, each) for each in now.observed.pods}
    assert not gates[0].open
    assert "2 are needed (L4)" in gates[1].text


def test_a_lost_disk_is_replaced_once_as_voter_and_as_broker() -> None:
    world = settled()
    world.place("t", 0, 1, 2)
    world.settle()
    lost = world.voters[2]
    world.delete_claim(2)
    acts = done(world, 14)
    assert [type(each).__name__ for each in acts] == ["RemoveVoter", "GiveUpDisk"]
    world.settle(80)
    assert world.ledger is not None
    assert [(each.node_id, each.directory_id) for each in world.ledger.written_off] == [(2, lost)]
    assert set(world.running_voters()) == world.registered == {0, 1, 2}
    assert not world.begun_empty


def test_what_nobody_else_has_in_sync_keeps_the_voter_until_one_plan_is_approved() -> None:
    world = settled()
    world.place("alone", 2)
    world.settle()
    world.delete_claim(2)
    assert done(world, 10) == []
    assert "alone-0" in reasons(world.plan())["DataLossPending"]
    name = world.published.hash
    ahead = [each.id.partition("/")[0] for each in world.published.ahead]
    assert ahead == ["remove-voter", "give-up-disk", "grant", "catch-up", "add-voter"]
    world.approve()
    acts = done(world, 4)
    assert [type(each).__name__ for each in acts] == ["RemoveVoter", "GiveUpDisk"]
    assert world.published.hash == name
    world.settle(80)
    assert set(world.running_voters()) == {0, 1, 2}


def test_with_the_only_disk_everything_is_lost_and_nothing_is_done() -> None:
    world = settled(1)
    world.delete_claim(0)
    assert done(world, 10) == []
    assert "a quorum of combined nodes cannot be recovered" in reasons(world.plan())["QuorumLost"]


def test_one_becomes_three() -> None:
    world = settled(1)
    edit(world, 3)
    world.settle(120)
    assert set(world.running_voters()) == world.registered == {0, 1, 2}


@pytest.mark.parametrize(
    ("replicas", "role", "reason", "remedy"),
    [
        (1, "Combined", "CombinedNodesStay", "set spec.controllers.replicas to 3 again"),
        (3, "Controller", "RoleFixed", "set spec.controllers.role to Combined again"),
    ],
)
def test_fewer_or_other_nodes_are_refused_and_nothing_is_touched(
    replicas: int, role: str, reason: str, remedy: str
) -> None:
    """By the operator, where the resource definition did not."""
    world = settled()
    edit(world, replicas, role)
    decision = world.reconcile()
    assert decision.actions == ()
    (found,) = (each for each in decision.findings if each.topic is Topic.SPEC)
    assert found.reason == reason
    assert found.message.startswith(remedy)
    edit(world)
    assert not reasons(world.settle())


def test_controllers_do_not_become_combined() -> None:
    world = World()
    world.settle()
    edit(world)
    assert "set spec.controllers.role to Controller again" in reasons(world.plan())["RoleFixed"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"controllers": controllers(5)}, "spec.controllers.replicas"),
        ({"brokerPools": [pool("b", 1, 100)]}, "spec.brokerPools"),
        ({"controllers": controllers(storage={"type": "Ephemeral"})}, "spec.controllers.storage.type"),
        (
            {"bootstrap": {"fromArchive": {"claimName": "archive-old-archive-0", "clusterID": "A" * 22}}},
            "spec.bootstrap.fromArchive",
        ),
        ({"controllers": controllers(3, "Controller", rack={"fromNodeLabel": "zone"})}, "spec.controllers.rack"),
        ({"controllers": controllers(3, "Both")}, "spec.controllers.role"),
    ],
)
def test_what_combined_nodes_do_not_go_with_is_refused_by_its_path(changes: dict[str, object], path: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_cluster(resource(**{"controllers": controllers(), "brokerPools": [], **changes}))
    assert refused.value.path == path


def test_they_do_not_become_secure_later() -> None:
    """Of OPS-07 this is refused, with the remedy."""
    migrating = {"security": {"tls": {"mode": "Migrating"}}}
    asked = parse_cluster(resource(**{"controllers": controllers(), "brokerPools": [], **migrating}))
    assert formed_with(asked, "").hindrance.startswith("spec.security.tls.mode: set it to Disabled: combined nodes")


@pytest.mark.parametrize("kind", ["ReplaceVoter", "ReplaceBroker", "RecoverQuorum", "Restore"])
def test_operations_that_would_take_what_the_other_half_has_are_refused(kind: str) -> None:
    world = settled()
    world.ask("o", kind, 2 if kind.startswith("Replace") else None)
    world.reconcile()
    told: Any = world.operations["o"]["status"]
    assert told["phase"] == "Rejected"
    assert {each["reason"] for each in told["conditions"]} >= {"NodesAreCombined"}
    assert done(world, 5) == []


def test_the_status_counts_them_as_controllers_and_as_brokers() -> None:
    world = settled()
    told: Any = status(world.cluster, world.observed(), world.plan(), {}, "2026-11-28T20:00:00Z")
    assert told["controllers"] == {"replicas": 3, "ready": 3}
    assert (told["brokers"]["replicas"], told["brokers"]["ready"], told["pools"]) == (3, 3, [])
    assert {each["role"] for each in told["nodes"]} == {"combined"}


def test_the_ledger_is_made_again_from_their_claims() -> None:
    world = settled()
    world.lose_ledger()
    world.settle(80)
    assert world.ledger is not None
    assert {each.role for each in world.ledger.entries} == {COMBINED.label}
    assert set(world.running_voters()) == {0, 1, 2}


def test_they_fall_asleep_one_by_one_the_leader_last() -> None:
    world, order = settled(), list[int]()
    edit(world, lifecycle={"state": "Hibernated"})
    for _ in range(12):
        before = set(world.pods)
        world.reconcile()
        world.kubelet()
        order += sorted(before - set(world.pods))
        assert len(before - set(world.pods)) <= 1
    assert order == [1, 2, 0]
    edit(world)
    world.settle(80)
    assert set(world.running_voters()) == world.registered == {0, 1, 2}
