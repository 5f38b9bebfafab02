"""The archive's copy in an object store: what is said of it. Nothing waits for it, not even the archive."""

from __future__ import annotations

from typing import Final

from kraft_operator.api import names
from kraft_operator.api.object_store import ObjectStore
from kraft_operator.api.spec import LifecycleState
from kraft_operator.archives import SHIPPING, StoreSeen
from kraft_operator.ledger import Formation
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict

BEHIND_SECONDS: Final = 300.0
"""Without a moment in which all that was due was in the store: longer than a store's bad minute, or a restart."""


def tell_archive_copy(now: Situation) -> Verdict:
    archive = now.cluster.spec.archive
    store = archive.store if archive is not None else None
    formed = now.ledger is not None and now.ledger.formation is Formation.FORMED
    if store is None or not formed or now.foreseen or now.cluster.spec.lifecycle is LifecycleState.HIBERNATED:
        return NOTHING
    seen, name = now.observed.archive, names.archive_name(now.cluster.name)
    if seen is None:
        remedy = f"look at the pod {name}-0 and its claim: the page of the archive does not answer"
        return Verdict(findings=(Finding(Topic.ARCHIVE_COPY, "ArchiveNotReached", remedy, name),))
    date = now.date.timestamp() if now.date is not None else None
    copy = seen.store
    late = copy is not None and date is not None and date - copy.contact > BEHIND_SECONDS
    told = _told(f"{name}-0", store, copy, late=late)
    return NOTHING if told is None else Verdict(findings=(Finding(Topic.ARCHIVE_COPY, *told, name),))


def _told(pod: str, store: ObjectStore, seen: StoreSeen | None, *, late: bool) -> tuple[str, str] | None:
    """Reason and message; None while it is current, or away for no more than a while."""
    field = "spec.archive.objectStore"
    if seen is None:
        return "CopyStarting", f"wait until the pod {pod} runs with {field}"
    match seen.standing:
        case "InUse":
            end = f"end the other one that writes to {store.url}, or give this one another {field}.url"
            return "CopyInUse", f"{end}, then delete the pod {pod}: {seen.why}"
        case "AnotherCluster":
            return "CopyOfAnotherCluster", f"give {field}.url a prefix of its own: {seen.why}"
        case "Forked":
            anew = "raise spec.archive.beginning, which sets it aside there"
            return "CopyForked", f"keep what the store has; {anew}: {seen.why}"
        case "Damaged":
            anew = "raise spec.archive.beginning, which sets it aside there"
            return "CopyDamaged", f"restore the object from the store's versions, or {anew}: {seen.why}"
        case "Unnamed":
            restore = f"restore archive.json of {store.url} from the store's versions"
            return "CopyUnnamed", f"{restore}, or give {field}.url another prefix: {seen.why}"
        case "BadKeys":
            secret = f"Secret {store.encryption} ({field}.encryptionSecret)"
            return "CopyKeysBad", f"mend {secret}, in which every key has to stay that sealed what is kept: {seen.why}"
        case "Refused":
            secrets = f"{field} or what its Secret {store.credentials} holds, and the rights that this has in the store"
            return "CopyRefused", f"mend {secrets}: {seen.why}"
        case _ if not late:
            return None
        case "Starting":
            return "CopyStarting", f"wait until the pod {pod} knows what it archives"
        case _:
            why = f" ({seen.standing}{': ' if seen.why else ''}{seen.why})" if seen.standing != SHIPPING else ""
            look = f"look whether the pod {pod} reaches {store.where}, and what its log says"
            return "CopyBehind", f"{look}: the copy ends at offset {seen.end}{why}"
