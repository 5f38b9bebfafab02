"""The audits of an archive: what keeps them from being made. What they find is in the status (`audit_status`).

Nothing of the cluster waits for them.
"""

from __future__ import annotations

from kraft_operator.api import names
from kraft_operator.api.spec import LifecycleState
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict


def tell_audit(now: Situation) -> Verdict:
    archive = now.cluster.spec.archive
    if archive is None or archive.audit is None or now.cluster.spec.lifecycle is LifecycleState.HIBERNATED:
        return NOTHING
    found = _told(now, archive.audit.lake_claim)
    name = names.audit_name(now.cluster.name)
    return NOTHING if found is None else Verdict(findings=(Finding(Topic.AUDIT, *found, name),))


def _told(now: Situation, claim: str | None) -> tuple[str, str] | None:
    """Reason and message; None while nothing has failed."""
    seen, pods = now.observed.audit, f"the pods of CronJob {names.audit_name(now.cluster.name)}"
    if claim is not None and now.observed.lake_missing:
        remedy = f"create the claim {claim} in namespace {now.cluster.namespace}, or take spec.archive.audit.lake out"
        return "LakeClaimNotFound", f"{remedy}: the lake of the audits has no volume"
    if seen.waits:
        return "AuditNotStarted", f"look at {pods}: a run does not begin: {seen.waits}"
    if seen.failed:
        return "AuditFailed", f"look at the logs of {pods}; the next one is tried as scheduled: {seen.failed}"
    return None
