"""A new cluster formed from an archive, once: as a quorum is made of the archive's copy when every disk is gone.

Only where the ledger knows of no quorum yet and no disk of the cluster holds anything: what was formed before, here or
by somebody else, is never touched. No node runs meanwhile. A helper reads the archive whole, up to the point that was
asked for, and refuses one that is damaged, forked, too old or another cluster's; what it found is written into the
ledger with every name that will be used; then the first controller's directory is made, and the others are formatted
and added by the usual rules. The archive is only read, and its own cluster may live on.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.api import names
from kraft_operator.api.from_archive import FromArchive
from kraft_operator.ledger import Formation, Ledger, Origin, RunningOperation
from kraft_operator.manifests.helpers import Task
from kraft_operator.observed import Claim
from kraft_operator.operations.from_archive import OPERATION_TYPE, FormedFrom
from kraft_operator.operations.recovery import Choice, Recovery, Stage
from kraft_operator.operations.verdict import Judged
from kraft_operator.plan.recovery.collecting import answers, survey_of
from kraft_operator.plan.recovery.remaking import force, made_for, run, set_aside
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from storage_guard.copies import CopyReport, State
from storage_guard.copies import Helper as What


def forms_from_archive(now: Situation) -> bool:
    unformed = now.ledger is None or now.ledger.formation is Formation.NOT_STARTED
    return now.cluster.spec.from_archive is not None and unformed


def form_from_archive(now: Situation) -> Verdict:
    asked, ledger = now.cluster.spec.from_archive, now.ledger
    if asked is None or ledger is None or ledger.formation is not Formation.NOT_STARTED:
        return NOTHING
    held = tuple(replace(node, held=True) for node in now.nodes)
    operation = RunningOperation(now.cluster.uid, now.cluster.name, OPERATION_TYPE)
    if ledger.recovery is None or ledger.operation != operation:
        ledger = replace(ledger, operation=operation, recovery=Recovery(Stage.COLLECT))
    answer = _staged(replace(now, ledger=ledger), ledger, asked)
    what = f"the cluster is formed from the archive on claim {asked.claim}"
    finding = Finding(Topic.MEMBERSHIP, "FormingFromArchive", what, "quorum")
    return replace(
        answer, ledger=_formed(now, answer.ledger or ledger), nodes=held, findings=(*answer.findings, finding)
    )


def tell_formed_before(now: Situation) -> Verdict:
    """What the resource asks for was never done, and cannot be any more: there is a cluster."""
    asked, ledger = now.cluster.spec.from_archive, now.ledger
    if asked is None or ledger is None or ledger.formation is Formation.NOT_STARTED or ledger.origin is not Origin.NEW:
        return NOTHING
    was = ledger.formed_from
    if was is not None and (was.claim, was.cluster_id, was.point) == (asked.claim, asked.cluster_id, asked.point):
        return NOTHING
    message = (
        "delete this resource and create it under another name, or without spec.bootstrap.fromArchive: the cluster of "
        f"this name formed before ({ledger.cluster_id}), and nothing of the archive on claim {asked.claim} was taken"
    )
    return Verdict(findings=(Finding(Topic.SPEC, "FormedBefore", message, "quorum", stalled=True),))


def _staged(now: Situation, ledger: Ledger, asked: FromArchive) -> Verdict:
    recovery = ledger.recovery
    assert recovery is not None
    match recovery.stage:
        case Stage.FORCE:
            return force(now, ledger, recovery)
        case Stage.SET_ASIDE:
            return set_aside(now, ledger, recovery)
        case _:
            return _read(now, ledger, recovery, asked)


def _formed(now: Situation, ledger: Ledger) -> Ledger:
    """From here on it is a cluster like any other."""
    if ledger.recovery is None or ledger.recovery.stage is not Stage.REJOIN:
        return ledger
    wanted = now.cluster.spec.controllers.node_ids
    return replace(ledger, recovery=None, operation=None, unproven_claims=(), controllers=wanted)


def _read(now: Situation, ledger: Ledger, recovery: Recovery, asked: FromArchive) -> Verdict:
    archive = now.observed.archive_claim
    if archive is None or not archive.volume or archive.terminating:
        return _refused(
            "ArchiveNotFound",
            f"put the claim {asked.claim} with the archive into namespace {now.cluster.namespace}: there is none that "
            "is bound",
        )
    if running := [each.name for each in now.observed.pods]:
        return _refused("FormingFromArchive", f"nothing is formed before these are gone: {', '.join(running)}", False)
    others = [each for each in now.observed.claims if each.volume and not made_for(ledger, each)]
    task = _look(now, archive, asked)
    found, seen = answers(now, [(archive, task), *((each, survey_of(now, each, {})) for each in others)])
    if found.missing:
        return Verdict(actions=tuple(run(now, each, "it is looked at") for each in found.missing))
    if found.failed:
        return _refused("ArchiveRefused", f"{'; '.join(found.failed)}. Delete the pod to have it tried again")
    if not found.complete:
        return Verdict()
    used = [claim.name for claim, helper in seen if claim is not archive and not _empty(helper.report)]
    if used:
        return _refused(
            "AdoptionConflict",
            f"use another name, or delete these claims if nobody needs what they hold: {', '.join(used)} hold data, "
            "and a cluster is formed from an archive on empty volumes only",
        )
    report = next(helper.report for claim, helper in seen if claim is archive)
    assert report is not None
    return _chosen(now, ledger, recovery, archive, asked=asked, report=report)


def _chosen(
    now: Situation, ledger: Ledger, recovery: Recovery, archive: Claim, asked: FromArchive, report: CopyReport
) -> Verdict:
    group = now.cluster.spec.controllers
    target = min(group.node_ids)
    node_set = names.node_name(now.cluster.name, group.name, target)
    if not any((each.kind, each.name) == ("StatefulSet", node_set) for each in now.observed.children):
        return Verdict()  # its claim is made as the set says
    claim = now.observed.claim(names.claim_name(now.cluster.name, group.name, target))
    choice = Choice(
        "", Judged.NO_OBSERVED_LOSS.value, names.ARCHIVE_NODE, from_broker=True, target=target,
        directory_id=now.draw(), nonce=now.draw(), epoch=report.promised + 1, end=report.end,
        last_epoch=report.last_epoch, target_claim=claim.uid if claim is not None else "", seed_claim=archive.uid,
    )  # fmt: skip
    beyond = report.beyond
    formed = FormedFrom(
        asked.claim, asked.cluster_id, asked.point, report.end, report.last_epoch,
        beyond.end if beyond is not None else report.end,
        *((beyond.created, beyond.deleted, beyond.more) if beyond is not None else ()),
    )  # fmt: skip
    return Verdict(
        ledger=replace(ledger, recovery=replace(recovery, stage=Stage.FORCE, choice=choice), formed_from=formed)
    )


def _look(now: Situation, archive: Claim, asked: FromArchive) -> Task:
    values = {"CLAIM_UID": archive.uid, "POINT": asked.point, "ARCHIVE_OF": asked.cluster_id}
    on = now.observed.archive_on
    return Task(What.SURVEY.value, names.ARCHIVE_NODE, archive.name, now.cluster.uid, values, on=on)


def _empty(report: CopyReport | None) -> bool:
    return report is not None and report.state is State.EMPTY


def _refused(reason: str, message: str, stalled: bool = True) -> Verdict:
    return Verdict(findings=(Finding(Topic.STORAGE, reason, message, "archive", stalled=stalled),))
