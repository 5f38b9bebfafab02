"""Claims that came out of a backup: they bear annotations that were made for other claims.

Volumes of one backup may be of several times. Started as they are, the older of them can be a majority without the
newest, which then loses what was committed. So while no controller runs and most of their claims are copies, every node
is held, until a Restore has compared them. A single copy in a quorum that has the others is that node's matter: the
guard compares its log with what the node had reached.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.api.roles import controls
from kraft_operator.ledger import Ledger
from kraft_operator.observed import Claim
from kraft_operator.plan.situation import Finding, Situation, Topic, Verdict


def restored(now: Situation) -> tuple[Claim, ...]:
    """The controllers' claims that are copies, if they are most of them and no controller runs."""
    claims = [each for each in now.observed.claims if controls(each)]
    copies = tuple(each for each in claims if _is_copy(each, now.ledger))
    known = len(now.ledger.controllers or now.ledger.initial_controllers) if now.ledger is not None else len(claims)
    runs = any(controls(pod) and pod.main_started for pod in now.observed.pods)
    return copies if 2 * len(copies) > known and not runs else ()


def hold_copies(now: Situation) -> Verdict:
    copies = restored(now)
    if not copies:
        return Verdict()
    todo = "create a KRaftOperation of type Restore (docs/operations/backup.md)"
    if now.cluster.spec.controllers.roles.serves:
        todo = "put back the volumes that the backup was made of, because copies of combined nodes are not compared"
    message = (
        f"{todo}: claims {', '.join(sorted(each.name for each in copies))} came out of a backup and may be of several "
        "times. Nothing is started before they were compared"
    )
    nodes = tuple(replace(node, held=True) for node in now.nodes)
    return Verdict(
        nodes=nodes, findings=(Finding(Topic.STORAGE, "RestoredFromBackup", message, "claims", stalled=True),)
    )


def _is_copy(claim: Claim, ledger: Ledger | None) -> bool:
    made_for = claim.identity.get("pvc-uid", claim.uid)
    if made_for == claim.uid:
        return False
    entry = ledger.entry(claim.node_id) if ledger is not None else None
    return ledger is None or (entry is not None and entry.directory_id is not None and entry.pvc_uid != claim.uid)
