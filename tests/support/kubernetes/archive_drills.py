"""What drills with an archive on Kubernetes do alike: ask the archive, delete every disk, recover, give up brokers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from kraft_operator.api import names
from kraft_operator.kube import CLAIM, CLUSTER, OPERATION
from kraft_operator.plugin.main import parser, run
from kraft_operator.plugin.recover import recover
from support.kubernetes.operator_process import Object, Story, eventually


def page(story: Story) -> dict[str, Any]:
    said: list[str] = []
    given = parser().parse_args(["archive", story.name, "-n", story.namespace, "-o", "json"])
    assert run(given, story.kubernetes.gateway, said.append) == 0
    return dict(json.loads("\n".join(said))["page"] or {})


def archived(story: Story) -> int:
    """The archive's end, once nothing is missing from it that was committed when this was called."""
    begun = time.time() + 1  # what a leader says when it answers was true a moment before

    def current() -> int | None:
        now = page(story)
        return int(now["end"]) if now.get("standing") == "Following" and (now["caughtUp"] or 0) > begun else None

    return eventually("an archive that follows", current)


def everything_is_deleted(story: Story) -> None:
    """Claims and what is on them, of controllers and brokers; the archive's is left."""
    claims = [each["metadata"]["name"] for each in story.kubernetes.gateway.list(CLAIM, story.namespace)]
    mine = [each for each in claims if each.startswith(f"data-{story.name}-")]
    assert len(mine) == len(story.directories())
    for claim in mine:
        story.delete_claim(claim)
    for claim in mine:
        story.delete_pod(claim.removeprefix("data-"))


def brokers_are_given_up(story: Story, old: dict[int, str], elect: Callable[[], object]) -> None:
    """What partitions held was on the brokers' disks alone: the status says so, and waits for whoever approves it.
    `elect` elects unclean leaders.
    """
    brokers = [each for each in old if each >= 100]
    told = story.await_condition("StorageHealthy", "False", "DataLossPending")
    assert all(f"broker {each}: " in told["message"] and old[each] in told["message"] for each in brokers), told

    def approved() -> bool:
        plan: Object = story.resource()["status"].get("plan") or {}
        if plan.get("approved") == "No":
            mark = {"metadata": {"annotations": {names.ANNOTATION_APPROVE: plan["hash"]}}}
            story.kubernetes.gateway.patch(CLUSTER, story.namespace, story.name, mark)
        now = story.directories()
        return all(now.get(each) not in (None, "", old[each]) for each in brokers)

    eventually("the brokers have new disks", approved)

    def led() -> bool:  # a broker that serves before its directories are known leads nothing that it had alone
        elect()
        return bool(story.condition("Ready")["status"] == "True")

    eventually("every partition is led by an empty replica", led)


def operation(story: Story) -> Object:
    (found,) = story.kubernetes.gateway.list(OPERATION, story.namespace)
    return dict(found)


def ask(story: Story, approve: str | None = None) -> str:
    """`kubectl kraft recover`, by its function."""
    said: list[str] = []
    assert recover(story.kubernetes.gateway, story.namespace, story.name, approve, 420, said.append) == 0, said
    return "\n".join(said)
