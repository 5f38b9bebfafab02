"""What is lost together: no failure domain may hold a majority of the voters, where the resource names one.

A domain is the set of Kubernetes nodes with the same value of a label, such as a zone. Whoever holds q of n voters can
commit alone: when it is lost, the quorum stops, and what was acknowledged may have been nowhere else. Pods are placed
by the constraints of the pod template; this judges what came of it, from the labels of the nodes that the controllers'
pods are on. What is asked for with `Require` is not made worse either: see `worsened`. A lost voter is replaced
wherever its pod runs, because one voter more is safer than one domain less.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kraft_operator.api.spec import DomainPolicy
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called, listed

MAJORITY_IN_ONE = "CommitMajorityInOneDomain"


@dataclass(frozen=True, slots=True)
class Domain:
    name: str
    voters: tuple[int, ...]
    holds_majority: bool


def domains(voters: Collection[int], zones: Mapping[int, str]) -> tuple[Domain, ...]:
    """Where these voters are, as far as that is known. Of one voter nothing is said: it is lost with
    whatever it is on.
    """
    majority = len(voters) // 2 + 1
    found: dict[str, list[int]] = {}
    for node_id in sorted(voters):
        if zones.get(node_id):
            found.setdefault(zones[node_id], []).append(node_id)
    return tuple(
        Domain(name, tuple(members), len(voters) > 1 and len(members) >= majority)
        for name, members in sorted(found.items())
    )


def judge_domains(now: Situation) -> Verdict:
    """Told, and nothing else: where a pod goes is the scheduler's choice."""
    asked, voters = now.cluster.spec.controllers.failure_domains, _voters(now)
    if asked is None or len(voters) < 2 or len(now.cluster.spec.controllers.node_ids) < 2:
        return NOTHING
    zones = now.observed.zones
    unknown = sorted(each for each in voters if zones.get(each) == "")
    if unknown:
        names = called("controller", unknown)
        message = (
            f"label the Kubernetes nodes of {names} with {asked.key}, or set spec.controllers.failureDomains.key to a "
            "label that they bear: there is no such label on them, or they cannot be read"
        )
        return Verdict(findings=(Finding(Topic.DOMAINS, "DomainUnknown", message, asked.key),))
    too_many = next((each for each in domains(voters, zones) if each.holds_majority), None)
    if too_many is None:
        return NOTHING
    message = (
        f"make room for one of controllers {listed(too_many.voters)} in another domain, then create a KRaftOperation "
        f"of type ReplaceVoter for it. {asked.key} {too_many.name} holds {len(too_many.voters)} of {len(voters)} "
        "voters: if it is lost, the quorum stops, and what was acknowledged last may be nowhere else"
    )
    return Verdict(findings=(Finding(Topic.DOMAINS, MAJORITY_IN_ONE, message, too_many.name),))


def worsened(now: Situation) -> str | None:
    """Why the voters must not become what the resource asks for: they would be a majority in one domain, and are not
    now.
    """
    group, zones = now.cluster.spec.controllers, now.observed.zones
    if group.failure_domains is None or group.failure_domains.policy is not DomainPolicy.REQUIRE:
        return None
    if any(each.holds_majority for each in domains(_voters(now), zones)) or len(_voters(now)) < 2:
        return None
    bad = next((each for each in domains(group.node_ids, zones) if each.holds_majority), None)
    if bad is None:
        return None
    return (
        f"controllers {listed(bad.voters)} would be a majority in {group.failure_domains.key} {bad.name} "
        "(spec.controllers.failureDomains.policy is Require)"
    )


def _voters(now: Situation) -> tuple[int, ...]:
    """As the quorum says; while it does not answer, as the ledger knows them."""
    if now.observed.quorum.voters:
        return tuple(sorted(each.node_id for each in now.observed.quorum.voters))
    return now.ledger.controllers or now.ledger.initial_controllers if now.ledger is not None else ()
