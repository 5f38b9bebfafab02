"""The operator's plans as dialogues: what is done, in which order and why; what is refused, in the words of the
conditions.

Commands, one a line: `cluster` (a new resource), `edit CHANGE ...` (see `change`; what is not named goes back to the
default), `reconcile` (plan and perform), `plan` (only show), `kubelet [NODE]` (every pod, or one, takes a step),
`settle` (until nothing moves), `watch` (the same, telling every step that the voters or a disk feel), `delete-pod |
delete-claim | retain-claim | wipe | freeze | thaw NODE`, `swap A B`, `copy NODE`, `restore NODE`, `write` (a client's
change), `delete-volume NODE NAME`, `delete-cluster`, `lose-ledger`, `unmark` (claims forget), `holds NODE TOPIC`,
`advertised` (listeners of brokers), `services`, `balance`, `rigid` (the class cannot expand), `resize` (the driver has
grown what was asked for), `sizes`, `take-over`, `half-a-pass` (dies after its first action), `who` (the voters), `way`
(the published plan), `approve [PLAN]`, `break-image TAG` (no kubelet can start it), `sicken TAG` (its processes end
again and again), `uids` (of pods, numbered as seen). Directory ids and nonces are numbered as drawn.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kraft_operator.actions import (
    DISRUPTIVE,
    Action,
    ApplyChild,
    DeliverGrant,
    DropClaim,
    RunHelper,
    WriteLedger,
    target,
)
from kraft_operator.operations.operation import ANNOTATION_CANCEL, parse_operation
from kraft_operator.plan.brake import Begun, Brake
from kraft_operator.plan.situation import Decision
from storage_guard.facts import VolumeFacts
from support.datadriven import check
from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit

SCRIPTS = sorted((Path(__file__).parent / "testdata").glob("*.txt"))


class Script:
    def __init__(self) -> None:
        self.world = World()
        self.names: dict[str, str] = {}
        self.copies: dict[int, VolumeFacts] = {}

    def run(self, commands: str) -> str:
        lines = [line for command in commands.splitlines() for line in self.one(command.split())]
        return "\n".join(self.readable(line) for line in lines) or "ok"

    def one(self, words: list[str]) -> list[str]:
        world = self.world
        match words:
            case ["cluster"]:
                self.world = World()
                return []
            case ["edit", *changes]:
                world.edit(**dict(self.change(each) for each in changes))
                return []
            case ["reconcile"]:
                return self.told(world.reconcile())
            case ["plan"]:
                return self.told(world.plan())
            case ["kubelet", *nodes]:
                world.kubelet(int(nodes[0]) if nodes else None)
                return self.pods()
            case ["settle"]:
                return [*self.told(world.settle()), *self.pods()]
            case ["watch"]:
                return self.watched()
            case ["delete-volume", node, volume]:
                world.delete_volume(int(node), volume)
                return []
            case ["write"]:
                world.write_metadata()
                return []
            case ["copy", node]:
                self.copies[int(node)] = world.copy_of(int(node))
                return []
            case ["restore", node]:
                world.restore(int(node), self.copies[int(node)])
                return []
            case ["restart", value]:
                world.cluster = replace(world.cluster, restart=value)
                return []
            case ["way"]:
                self.world.plan()
                return self.way()
            case ["approve", *names]:
                world.approve(self.hash(names[0]) if names else None)
                return []
            case ["budget"]:
                budget = world.children["PodDisruptionBudget", "c-controller"].live["spec"]
                return [
                    f"{budget['minAvailable']} controllers have to stay"
                    if "minAvailable" in budget
                    else "every controller has to stay"
                ]
            case ["who"]:
                return [" ".join(f"{each}:{name}" for each, name in sorted(world.voters.items()))]
            case ["uids"]:
                return [" ".join(f"{node}:{pod.uid}" for node, pod in sorted(world.pods.items()))]
            case ["ask", name, kind, *node]:
                world.ask(name, kind, int(node[0]) if node else None)
                return []
            case ["cancel", name]:
                meta = world.operations[name]["metadata"]
                assert isinstance(meta, dict)
                meta["annotations"] = {ANNOTATION_CANCEL: "yes"}
                return []
            case ["trust", name]:
                world.trust(name, str(parse_operation(world.operations[name]).status["verdict"]["hash"]))
                return []
            case ["trust", name, text]:
                world.trust(name, text)
                return []
            case ["forget", name]:
                del world.operations[name]
                return []
            case ["operations"]:
                return self.operations()
            case ["half-a-pass"]:
                world.reconcile(stop_after=1)
                return []
            case ["swap", one, other]:
                world.swap(int(one), int(other))
                return []
            case ["holds", node]:
                world.replicas = {int(node): ()}
                return []
            case ["place", topic, *brokers]:
                world.place(topic, *map(int, brokers))
                return []
            case ["placed"]:
                return [f"{topic}-{index}: {each}" for (topic, index), each in sorted(world.partitions.items())]
            case ["final"]:
                return [" ".join(f"{feature}={level}" for feature, level in sorted(world.finalized.items()))]
            case ["finalized", feature, level]:
                world.finalized[feature] = int(level)
                return []
            case ["brake", limit, count]:
                begun = tuple(Begun(f"uid-{each}", "n/x", 0, "id", 43200.0 - each) for each in range(int(count)))
                world.brake = Brake(int(limit), begun, 43200.0)
                return []
            case ["in-sync"]:
                return [f"{topic}-{index}: {each}" for (topic, index), each in sorted(world.in_sync.items())]
            case ["begun-empty"]:
                return [", ".join(f"{topic}-{index}" for topic, index in world.begun_empty) or "none"]
            case ["registered"]:
                return [" ".join(map(str, sorted(world.registered)))]
            case ["holds", node, topic]:
                world.replicas = {int(node): (topic,)}
                return []
            case ["advertised"]:
                maps = [
                    each.live for each in world.children.values() if each.kind == "ConfigMap" and "-b-" in each.name
                ]
                lines = [line for each in maps for line in each["data"]["server.properties"].splitlines()]
                return [line for line in lines if line.startswith("advertised.listeners")]
            case ["services"]:
                return [each.name for each in world.children.values() if each.kind == "Service"]
            case ["rigid"]:
                world.expands = False
                return []
            case ["resize"]:
                for claim in world.claims.values():
                    claim.capacity = claim.requested
                return []
            case ["sizes"]:
                return [" ".join(f"{each.name}:{each.volume_size}" for each in world.sets.values())]
            case ["classes"]:
                return [" ".join(f"{each.name}:{each.volume_kind[0] or '-'}" for each in world.sets.values())]
            case ["unmark"]:
                for claim in world.claims.values():
                    claim.marks.clear()
                return []
            case [fault, *rest]:
                method = getattr(world, fault.replace("-", "_"))
                method(*(int(each) for each in rest))
                return []
            case _:
                raise AssertionError(words)

    def change(self, text: str) -> tuple[str, object]:
        name, _, value = text.partition("=")
        match name:
            case "brokers":
                return "brokerPools", [pool("b", int(value), 100)]
            case "volumes":
                storage = {
                    "size": "1Gi",
                    "volumes": [{"name": each, "size": "1Gi"} for each in value.split(",") if each],
                }
                return "brokerPools", [{**pool("b", 2, 100), "storage": storage}]
            case "clusterID":
                return "clusterID", value
            case "suspended":
                return "lifecycle", {"state": "Suspended"}
            case "hibernated":
                return "lifecycle", {"state": "Hibernated"}
            case "plain":
                return "probes", "HTTP"
            case "controllers":
                return "controllers", {
                    "replicas": int(value),
                    "nodeIdRange": {"start": 0, "end": 9},
                    "storage": {"size": "1Gi"},
                }
            case "outside":
                outside = {"name": "OUTSIDE", "port": 9094, "exposure": value}
                return "endpoints", {"broker": [{"name": "PLAINTEXT", "port": 9092}, outside]}
            case "size":
                storage = {"size": value}
                return "controllers", {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": storage}
            case "class":
                node, name = value.split(":")
                other = {"overrides": [{"nodeID": int(node), "storageClassName": name}], "size": "1Gi"}
                if int(node) >= 100:
                    return "brokerPools", [{**pool("b", 3, 100), "storage": other}]
                return "controllers", {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": other}
            case "image":
                return "image", {"repository": "kafka", "tag": value}
            case "controllers-image":
                ids, storage = {"start": 0, "end": 9}, {"size": "1Gi"}
                image = {"repository": "kafka", "tag": value}
                return "controllers", {"replicas": 3, "nodeIdRange": ids, "storage": storage, "image": image}
            case "without":
                count, *excluded = map(int, value.split(","))
                return "brokerPools", [pool("b", count, 100) | {"excludedNodeIds": excluded}]
            case "drain":
                return "brokerPools", [pool("b", int(value), 100) | {"scaleDown": {"timeout": "12s"}}]
            case "force":
                return "brokerPools", [pool("b", int(value), 100) | {"scaleDown": {"drain": "Force", "timeout": "12s"}}]
            case "pin":
                return "metadataVersion", {"value": value}
            case "follow":
                return "metadataVersion", {"policy": "FollowVersionAfterSoak", "soak": value}
            case "latest":
                return "quorumFeature", {"policy": "Latest"}
            case "explode":
                return "config", {each: {"explode": "yes"} for each in value.split("+")}
            case "patience":
                return "rollout", {"readyTimeout": value}
            case "halt":
                return "rollout", {"readyTimeout": value, "onBadRevision": "Halt"}
            case "planned":
                return "changePolicy", {"mode": "Plan"}
            case "ondelete":
                return "rollout", {"strategy": "OnDelete"}
            case "treat-as-lost":
                return "recoveryPolicy", {"nodeGone": "TreatAsLost"}
            case "proven":
                return "recoveryPolicy", {"quorumLoss": "ProvenOnly"}
            case "report":
                return "recoveryPolicy", {"lostDisk": "Report"}
            case _:
                raise AssertionError(text)

    def watched(self) -> list[str]:
        """Until nothing moves: each step once, and the reasons of findings when they change."""
        lines: list[str] = []
        reasons: list[str] = []
        decision = self.world.plan()
        for _ in range(60):
            decision = self.world.reconcile()
            now = sorted({f"{each.topic.value}={each.reason}" for each in decision.findings})
            lines += [f"! {' '.join(now) or 'nothing to tell'}"] if now != reasons else []
            reasons = now
            lines += [
                self.action(each)
                for each in decision.actions
                if isinstance(each, (DeliverGrant, RunHelper, DropClaim, *DISRUPTIVE))
            ]
            if not self.world.kubelet() and not decision.actions and not self.world.waiting(decision):
                return [*lines, *self.pods()]
        raise AssertionError(f"still moving: {decision.actions}")

    def operations(self) -> list[str]:
        """Phase, reason and message of each, its steps and its proof."""
        lines = []
        for each in map(parse_operation, self.world.operations.values()):
            status = each.status
            reason = status["conditions"][0]["reason"] if status else "-"
            lines.append(f"{each.name}: {each.phase.value} {reason}: {status.get('message', '')}")
            lines += [
                f"  {step['state']} {step['name']}: {step.get('message', '')}" for step in status.get("steps", ())
            ]
            lines += [f"  proof: {status['proof']}"] if "proof" in status else []
            lines += [
                (
                    f"  copy of {copy['nodeID']} ({copy['role']}): ends at {copy['end']} of epoch "
                    f"{copy['lastEpoch']}, heard of {copy['promised']}"
                )
                for copy in status.get("verdict", {}).get("copies", ())
            ]
        return lines

    def told(self, decision: Decision) -> list[str]:
        """Actions in order (equal neighbours of the children counted), then findings."""
        lines: list[str] = []
        applied = 0
        for action in decision.actions:
            if isinstance(action, ApplyChild) and action.reason == "it is missing":
                applied += 1
                continue
            lines += [f"apply {applied} missing children"] if applied else []
            applied = 0
            lines.append(self.action(action))
        lines += [f"apply {applied} missing children"] if applied else []
        return lines + [f"! {each.topic.value} {each.reason}: {each.message}" for each in decision.findings]

    def action(self, action: Action) -> str:
        match action:
            case WriteLedger(ledger):
                steps = "".join(f" {step.kind.value}({step.node_id}, {step.holder})" for step in ledger.journal)
                known = sum(entry.directory_id is not None for entry in ledger.entries)
                return (
                    f"ledger: {ledger.origin.value} {ledger.formation.value}, {known} disks "
                    f"known, journal:{steps or ' empty'}"
                )
            case DeliverGrant():
                return f"grant {action.pod}: {action.reason}"
            case _:
                return f"{type(action).__name__} {target(action)}: {action.reason}"

    def way(self) -> list[str]:
        """The published plan: every step with its state, and what it waits for or needs."""
        plan = self.world.published
        if not plan.steps:
            return ["there is nothing to do"]
        lines = [f"{plan.hash} approved={plan.approved.value}, after {plan.last or 'none'}"]
        for each in plan.steps:
            marks = "".join(f" {mark}" for mark in (each.lemma,
                "" if each.risk.value == "None" else each.risk.value) if mark)  # fmt: skip
            lines.append(f"{each.state.value} {each.action} {each.target}{marks}: {each.reason}")
            lines += [f"    {each.gate}"] if each.state.value in ("Waiting", "Pending") and each.gate else []
        return lines

    def hash(self, name: str) -> str:
        return next((each for each, readable in self.names.items() if readable == name), name)

    def pods(self) -> list[str]:
        found = []
        for node_id, pod in sorted(self.world.pods.items()):
            found.append(
                f"{node_id}:{'crashing' if pod.crashes else pod.stage}"
                + (f"({pod.hold})" if pod.hold and pod.stage == "gate" else "")
            )
        return [" ".join(found)] if found else []

    def readable(self, line: str) -> str:
        """Random ids by the order of their appearance; so are revisions, which are digests."""

        def name(match: re.Match[str]) -> str:
            return self.names.setdefault(match.group(), f"id{len(self.names) + 1}")

        line = re.sub(r"(?<=revision )[0-9a-f]{12}\b", name, line)
        line = re.sub(r"(-(?:survey|recover|set-aside)-\d+)-[0-9a-f]{8}\b", r"\1", line)
        line = re.sub(r"(--approve |\()[0-9a-f]{12}\b", r"\1HASH", line)

        def plan(match: re.Match[str]) -> str:
            known = sum(each.startswith("plan") for each in self.names.values())
            return self.names.setdefault(match.group(), f"plan{known + 1}")

        line = re.sub(r"\b[0-9a-f]{6}-[0-9a-f]{8}\b", plan, line)
        return re.sub(r"\bA{15}[A-Za-z0-9_-]{7}(?![A-Za-z0-9_-])", name, line)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_operator_plans_as_the_script_says(path: Path, rewrite: bool) -> None:
    check(path, Script().run, rewrite=rewrite)


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 6
