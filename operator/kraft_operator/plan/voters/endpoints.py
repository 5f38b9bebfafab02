"""Voters are found by names that the metadata log holds (KIP-853), and nobody rewrites them by renaming things.

So a controller's claim bears the endpoint that its voter has. Claims that are restored into another namespace, or under
another cluster's name, tell by it that their quorum could never find itself there: nothing is started on them, before
anybody has tried.

A follower that the log knows by another endpoint than its own corrects that itself (UpdateRaftVoter), once per leader.
What has stood for a while is corrected by the operator in its place: the voters stay the same, whoever they are. Never
that of the leader: Apache Kafka's (4.2.0) ends when it is asked to update itself. The request names the leader's epoch,
so it cannot reach one that was elected since. A leader corrects itself once another one leads.
"""

from __future__ import annotations

from kraft_operator.actions import UpdateVoter
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.api.stages import SECURE_CONTROLLER
from kraft_operator.ledger import Formation, JournaledStep, StepKind
from kraft_operator.observed import QuorumVoter
from kraft_operator.plan.disks.identity import ENDPOINT, voter_endpoint
from kraft_operator.plan.rollout.rolling import outdated_pods
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict


def refuse_moved_voters(now: Situation) -> Verdict:
    moved = sorted(
        (claim.name, said)
        for claim in now.observed.claims
        if controls(claim) and (said := claim.identity.get(ENDPOINT))
        if not _is_here(now.cluster, claim.node_id, said)
    )
    if not moved:
        return NOTHING
    name, said = moved[0]
    here = voter_endpoint(now.cluster, next(each.node_id for each in now.observed.claims if each.name == name))
    message = (
        f"restore the claims under their own namespace, cluster name and domain: the voter of {name} is {said} in the "
        f"metadata log and would be {here} here, so the voters could not find each other. Nothing was started"
    )
    return Verdict(findings=(Finding(Topic.ENDPOINTS, "EndpointDrift", message, name, stalled=True),), stop=True)


def _is_here(cluster: KRaftCluster, node_id: int, said: str) -> bool:
    """A cluster may be on its way from one port to another, and who has lost the ledger does not know how far."""
    host, _, port = said.rpartition(":")
    moves = cluster.spec.security.migrated or port == str(SECURE_CONTROLLER.port)
    return said == voter_endpoint(cluster, node_id) or (moves and host == cluster.voter_host(node_id))


def correct_endpoints(now: Situation) -> Verdict:
    """One voter at a time, not the leader, live and served by a pod of the newest revision, on a quorum whose voters
    are committed.
    """
    quorum, ledger = now.observed.quorum, now.ledger
    if ledger is None or ledger.formation is not Formation.FORMED or not quorum.proven:
        return NOTHING
    drifted = {each: said for each in quorum.voters if (said := _said(now, each)) is not None}
    suspects = frozenset(_suspicion(each, said) for each, said in drifted.items())
    debounce = now.cluster.spec.recovery.debounce_seconds
    stood = [each for each in drifted if now.waited.get(_suspicion(each, drifted[each]), -1.0) >= debounce]
    if not stood:
        return Verdict(suspects=suspects)
    voter = min(stood, key=lambda each: (each.node_id == quorum.leader_id, each.node_id))
    here = ", ".join(f"{host}:{port}" for _, host, port in served_by(now.cluster, voter.node_id))
    text = f"voter {voter.node_id} is {here}, but {drifted[voter]} in the metadata log"
    if (why := _not_yet(now, voter)) is not None:
        return Verdict(findings=(_drift(voter, f"{text}; that is corrected once {why}"),), suspects=suspects)
    step = JournaledStep(
        StepKind.UPDATE_VOTER, voter.node_id, now.fence.holder, now.fence.transitions, (voter.directory_id, here)
    )
    endpoints = served_by(now.cluster, voter.node_id)
    if not now.cluster.spec.security.migrated:
        endpoints = (endpoints[0], *(each for each in voter.endpoints if each[0] != endpoints[0][0]))
    action = UpdateVoter(voter.node_id, voter.directory_id, endpoints, epoch=quorum.epoch, step=step, reason=text)
    return Verdict(
        ledger=ledger.with_step(step), actions=(action,), findings=(_drift(voter, f"{text}; that is being corrected"),),
        suspects=suspects,
    )  # fmt: skip


def _said(now: Situation, voter: QuorumVoter) -> str | None:
    """Other endpoints than its pod's; None when the log is right, or the leader does not tell. Of a cluster that became
    secure all of them count, of others the default one.
    """
    served = served_by(now.cluster, voter.node_id)
    if now.cluster.spec.security.migrated:
        same = not voter.endpoints or set(voter.endpoints) == set(served)
        return None if same else ", ".join(f"{host}:{port}" for _, host, port in voter.endpoints)
    known = next((each for each in voter.endpoints if each[0] == served[0][0]), None)
    return f"{known[1]}:{known[2]}" if known not in (None, served[0]) else None


def served_by(cluster: KRaftCluster, node_id: int) -> tuple[tuple[str, str, int], ...]:
    """(Listener, host, port) of a controller with the newest configuration, its default first."""
    return tuple((each.name, cluster.voter_host(node_id), each.port) for each in cluster.spec.controller_listeners)


def _not_yet(now: Situation, voter: QuorumVoter) -> str | None:
    pod = now.observed.pod(voter.node_id)
    if voter.node_id == now.observed.quorum.leader_id:
        return "another controller leads, for instance after kubectl kraft restart"
    if not voter.live or pod is None or not pod.ready or pod.terminating:
        return "it is live and its pod ready"
    if outdated_pods((pod,), now.observed.sets):
        return "its pod runs the newest revision"
    if not now.observed.quorum.settled or now.stepped:
        return "the voters are committed and no other step is taken"
    return None


def _suspicion(voter: QuorumVoter, said: str) -> str:
    return f"endpoint {voter.node_id} {voter.directory_id} {said}"


def _drift(voter: QuorumVoter, text: str) -> Finding:
    return Finding(Topic.ENDPOINTS, "EndpointDrift", text, f"controller {voter.node_id}")
