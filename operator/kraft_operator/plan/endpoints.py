"""Voters are found by names that the metadata log holds (KIP-853), and nobody rewrites them by renaming things.

So a controller's claim bears the endpoint that its voter has. Claims that are restored into another namespace, or under another cluster's name, tell by
it that their quorum could never find itself there: nothing is started on them, before anybody has tried.
"""

from __future__ import annotations

from kraft_operator.api.spec import KRaftCluster, Role
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict

ENDPOINT = "endpoint"
"""The annotation on a controller's claim, below our prefix."""


def voter_endpoint(cluster: KRaftCluster, node_id: int) -> str:
    return f"{cluster.voter_host(node_id)}:{cluster.spec.controller_listeners[0].port}"


def refuse_moved_voters(now: Situation) -> Verdict:
    moved = sorted(
        (claim.name, said)
        for claim in now.observed.claims
        if claim.role == Role.CONTROLLER.value and (said := claim.identity.get(ENDPOINT))
        if said != voter_endpoint(now.cluster, claim.node_id)
    )
    if not moved:
        return NOTHING
    name, said = moved[0]
    here = voter_endpoint(now.cluster, next(each.node_id for each in now.observed.claims if each.name == name))
    message = (
        f"{len(moved)} controllers' claims come from elsewhere: the voter of {name} is known as {said} in the metadata log, here it would be "
        f"{here}. The quorum cannot find itself under other names; restore it under its own namespace, cluster name and domain. Nothing was started"
    )
    return Verdict(findings=(Finding(Topic.ENDPOINTS, "EndpointDrift", message, name, stalled=True),), stop=True)
