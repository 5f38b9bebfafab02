"""Pods that Kubernetes would refuse: told with the remedy, and no pod that runs is given up for one of them.

The answer to a dry run says so (`pod_trials`). Some answers speak of the dry run and not of the pod: a quota that the
pod which runs has used up, a webhook that judges no dry runs, rights that are too small. They hold nobody back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kraft_operator.observed import Pod
from kraft_operator.plan.situation import Finding, Situation, Topic

NOT_OF_THE_POD: Final = ("exceeded quota", "does not support dry run", 'User "', "object has been modified")
REFUSALS: Final = (
    "is forbidden:",
    "denied the request",
    "denied request",
    "failed calling webhook",
    "failed to call webhook",
)
PREFIX: Final = re.compile(r'^pods "[^"]*" is forbidden: ')
MISSING: Final = (
    (re.compile(r'RuntimeClass "([^"]+)" not found'), "RuntimeClassMissing", "RuntimeClass", "runtimeClassName"),
    (re.compile(r"no PriorityClass with name (\S+) was found"), "PriorityClassMissing", "PriorityClass",
        "priorityClassName"),
    (re.compile(r'serviceaccount "([^"]+)" not found'), "ServiceAccountMissing", "ServiceAccount",
        "serviceAccountName"),
)  # fmt: skip
LONGEST: Final = 800


def report_refused(now: Situation) -> Iterator[Finding]:
    """Of groups whose sets would make such pods."""
    for group in now.cluster.spec.groups:
        targets = sorted({each.target for each in now.observed.sets if each.pool == group.name})
        for target in targets:
            said = now.observed.refused.get((group.name, target))
            reason = reason_of(said) if said is not None else None
            if said is None or reason is None:
                continue
            message = f"{_remedy(said, reason, group.name)}. {_consequence(now, group.name)}"
            yield Finding(Topic.PODS, reason, message, group.name, stalled=True)


def refused(now: Situation, pod: Pod) -> str | None:
    """Why this outdated pod stays: nothing would come after it."""
    node_set = now.observed.node_set(pod.node_id)
    said = now.observed.refused.get((pod.pool, node_set.target)) if node_set is not None else None
    reason = reason_of(said) if said is not None else None
    return f"Kubernetes would refuse the new pod ({reason})" if reason is not None else None


def reason_of(said: str) -> str | None:
    """None: it says nothing against the pod."""
    for pattern, reason, *_ in MISSING:
        if pattern.search(said):
            return reason
    if any(each in said for each in NOT_OF_THE_POD):
        return None
    if "violates PodSecurity" in said or "security context constraint" in said:
        return "PodSecurityViolated"
    return "PodRefused" if any(each in said for each in REFUSALS) else None


def _remedy(said: str, reason: str, group: str) -> str:
    for pattern, _, kind, path in MISSING:
        if (match := pattern.search(said)) is not None:
            listed = f"kubectl get {kind.lower()} shows those that are there"
            return f"create {kind} {match[1]} ({listed}), or correct pod.{path} of {group}"
    text = PREFIX.sub("", said)[:LONGEST].rstrip(". ")
    if reason == "PodSecurityViolated":
        return f"correct the pod fields of {group} (or what the namespace allows), which Pod Security refuses: {text}"
    return f"correct the pod fields of {group}, or the policy that refuses it: {text}"


def _consequence(now: Situation, group: str) -> str:
    there = [each for each in now.observed.pods if each.pool == group and not each.terminating]
    return "Its pods are left as they are until then" if there else "It gets no pods until then"
