"""The operator's plans as dialogues: what is done, in which order and why; what is refused, in the words of the conditions.

Commands, one a line: `cluster` (a new resource), `edit brokers=N | clusterID=ID | suspended | plain`, `reconcile` (plan and perform), `plan` (only
show), `kubelet [NODE]` (every pod, or one, takes a step), `settle` (until nothing moves), `delete-pod | delete-claim | wipe NODE`, `swap A B`,
`delete-cluster`, `lose-ledger`, `unmark` (claims forget), `holds NODE TOPIC`, `take-over`, `half-a-pass`
(dies after its first action). Directory ids and nonces are numbered as drawn.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraft_operator.actions import Action, ApplyChild, DeliverGrant, WriteLedger, target
from kraft_operator.plan.situation import Decision
from support.datadriven import check
from support.operator_world import World, pool

pytestmark = pytest.mark.unit

SCRIPTS = sorted((Path(__file__).parent / "testdata").glob("*.txt"))


class Script:
    def __init__(self) -> None:
        self.world = World()
        self.names: dict[str, str] = {}

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
            case ["half-a-pass"]:
                world.reconcile(stop_after=1)
                return []
            case ["swap", one, other]:
                world.swap(int(one), int(other))
                return []
            case ["holds", node, topic]:
                world.replicas = {int(node): (topic,)}
                return []
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
            case "clusterID":
                return "clusterID", value
            case "suspended":
                return "lifecycle", {"state": "Suspended"}
            case "plain":
                return "probes", "HTTP"
            case _:
                raise AssertionError(text)

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
                return f"ledger: {ledger.origin.value} {ledger.formation.value}, {known} disks known, journal:{steps or ' empty'}"
            case DeliverGrant():
                return f"grant {action.pod}: {action.reason}"
            case _:
                return f"{type(action).__name__} {target(action)}: {action.reason}"

    def pods(self) -> list[str]:
        found = []
        for node_id, pod in sorted(self.world.pods.items()):
            found.append(f"{node_id}:{pod.stage}" + (f"({pod.hold})" if pod.hold and pod.stage == "gate" else ""))
        return [" ".join(found)] if found else []

    def readable(self, line: str) -> str:
        """Random ids by the order of their appearance."""

        def name(match: re.Match[str]) -> str:
            return self.names.setdefault(match.group(), f"id{len(self.names) + 1}")

        return re.sub(r"\bA{15}[A-Za-z0-9_-]{7}(?![A-Za-z0-9_-])", name, line)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_operator_plans_as_the_script_says(path: Path, rewrite: bool) -> None:
    check(path, Script().run, rewrite=rewrite)


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 6
