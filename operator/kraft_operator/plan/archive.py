"""The archive of a quorum: what is said of it, and the one right that its principal has.

Nothing of the cluster waits for its archive. What is wrong with it is told long before the quorum has trimmed its log
past it, because what lies between is then in no log any more.
"""

from __future__ import annotations

from typing import Final

from kraft_operator.actions import Action
from kraft_operator.api import names
from kraft_operator.api.spec import LifecycleState
from kraft_operator.archives import ArchiveSeen
from kraft_operator.ledger import Formation
from kraft_operator.manifests.archive import archive_principal
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.users import Acl, ChangeAcls, Users

BEHIND_SECONDS: Final = 120.0
"""Without a moment in which nothing was missing: longer than an election, or the archive's restart."""
CLUSTER: Final = 4
CLUSTER_ACTION: Final = Acl(CLUSTER, "kafka-cluster", 3, "*", operation=9, permission=3)


def keep_archive(now: Situation) -> Verdict:
    if now.cluster.spec.archive is None or now.ledger is None or now.ledger.formation is not Formation.FORMED:
        return NOTHING
    asleep = now.cluster.spec.lifecycle is LifecycleState.HIBERNATED
    found = None if asleep or now.foreseen else _finding(now, now.observed.archive)
    return Verdict(findings=(found,) if found is not None else (), actions=_rights(now, now.observed.users))


def archive_user(now: Situation) -> frozenset[str]:
    """Who is remembered as a user of the cluster on its behalf, so that its right goes when it does."""
    wanted = now.cluster.spec.archive is not None and now.cluster.spec.security.authorized
    return frozenset((archive_principal(now.cluster),)) if wanted else frozenset()


def _rights(now: Situation, users: Users | None) -> tuple[Action, ...]:
    """ClusterAction, which lets it fetch. While what no ACL is about is allowed, a first ACL about the cluster would
    shut everybody else out of it, so there is none before there is another.
    """
    security = now.cluster.spec.security
    if users is None or users.found is None or not security.authorized:
        return ()
    principal, acls = archive_principal(now.cluster), users.found.acls
    judged = security.enforced or any(acl.resource_type == CLUSTER for some in acls.values() for acl in some)
    if not judged or CLUSTER_ACTION in acls.get(principal, frozenset()):
        return ()
    return (ChangeAcls(principal, (CLUSTER_ACTION,), (), "the archive follows the quorum by it"),)


def _finding(now: Situation, seen: ArchiveSeen | None) -> Finding | None:
    name = names.archive_name(now.cluster.name)
    date = now.date.timestamp() if now.date is not None else None
    late = seen is not None and date is not None and date - seen.caught_up > BEHIND_SECONDS
    told = _told(f"{name}-0", seen, late=late)
    return None if told is None else Finding(Topic.ARCHIVE, *told, name)


def _told(pod: str, seen: ArchiveSeen | None, *, late: bool) -> tuple[str, str] | None:
    """Reason and message; None while it follows, or missed no more than an election."""
    if seen is None:
        return "ArchiveNotReached", f"look at the pod {pod} and its claim: the page of the archive does not answer"
    anew = "raise spec.archive.beginning, which keeps these files aside and begins anew"
    match seen.standing:
        case "Starting":
            return "ArchiveStarting", f"wait until the pod {pod} has read its disk"
        case "Forked":
            return "ArchiveForked", f"keep the archive, as it has what the quorum lost; {anew}: {seen.why}"
        case "AnotherCluster":
            return "ArchiveOfAnotherCluster", f"give the archive its own claim back, or {anew}: {seen.why}"
        case "Damaged":
            return "ArchiveDamaged", f"look at the disk of the pod {pod}, then {anew}: {seen.why}"
        case "Truncated":
            return "ArchiveTruncated", f"put the files of the pod {pod} back, or {anew}: {seen.why}"
        case _ if not late:
            return None
        case _:
            why = f": {seen.why}" if seen.why else ""
            within = f"look at the pod {pod} before the quorum trims its log past offset {seen.end}"
            return "ArchiveBehind", f"{within}: the archive does not follow it ({seen.standing}{why})"
