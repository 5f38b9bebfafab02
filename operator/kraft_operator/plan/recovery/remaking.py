"""Carrying out an approved verdict: the seed becomes a quorum of one, every other directory is set aside.

Everything has the names that the ledger's choice gave it before, so whichever operator goes on does the same. What was
approved speaks of certain claims: where somebody has put another one, the copies are compared anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kraft_operator.actions import Action, DropClaim, EndHelper, RunHelper
from kraft_operator.api import names
from kraft_operator.api.roles import CONTROLLER, controls
from kraft_operator.ledger import Entry, Formation, Ledger, WrittenOff
from kraft_operator.manifests.helpers import Task, helper_pod
from kraft_operator.observed import Claim
from kraft_operator.operations.from_archive import OPERATION_TYPE
from kraft_operator.operations.recovery import Choice, Recovery, Stage
from kraft_operator.plan.recovery.collecting import (
    asked_for,
    claim_of,
    is_restore,
    whose,
)
from kraft_operator.plan.situation import Situation, Verdict
from storage_guard.copies import Helper as What

RECOVERY_MARK: Final = "recovery"
"""Annotation of a claim that a recovery makes: the operation's UID."""


def force(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    choice = recovery.choice
    assert choice is not None
    claim_name = names.claim_name(now.cluster.name, now.cluster.spec.controllers.name, choice.target)
    claim = now.observed.claim(claim_name)
    task = _recover(now, ledger, choice, claim_name)
    helper = next((each for each in now.observed.helpers if each.name == task.name(now.cluster.name)), None)
    if helper is not None and helper.report is not None and helper.report.directory_id == choice.directory_id:
        return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.SET_ASIDE)))
    if helper is not None or (claim is not None and claim.terminating):
        return Verdict()
    if _other_claims(now, ledger, choice, claim):
        return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.COLLECT, choice=None)))
    if not choice.from_broker:
        return Verdict(actions=(run(now, task, f"a quorum of one is made of controller {choice.seed}'s copy"),))
    if claim is not None and not made_for(ledger, claim):
        # Bound elsewhere perhaps, and empty, as a helper saw: a new one is bound where the broker's volume is.
        reason = f"it is empty; one that can be used beside {whose(choice.seed, 'broker')}'s takes its place"
        readers = [
            each for each in now.observed.helpers if each.node_id == choice.target and each.what == What.SURVEY.value
        ]
        ended = tuple(EndHelper(each.name, each.uid, "its claim has to go") for each in readers)
        return Verdict(actions=(*ended, DropClaim(claim.name, claim.uid, reason)))
    made = None if claim is not None else _claim_manifest(now, ledger, choice.target, claim_name)
    return Verdict(actions=(run(now, task, f"a quorum of one is made of {whose(choice.seed, 'broker')}'s copy", made),))


def _other_claims(now: Situation, ledger: Ledger, choice: Choice, target: Claim | None) -> bool:
    """Somebody has put another claim, hence another disk, where one was judged: what was approved does not speak of it.
    A claim that was empty and is gone is what was asked for; the one that takes its place bears the recovery's mark."""
    seed = claim_of(now, choice.seed)
    if choice.seed_claim is not None and (seed is None or seed.uid != choice.seed_claim):
        return True
    if target is None or choice.target_claim is None or not choice.from_broker:
        return False
    return target.uid != choice.target_claim and not made_for(ledger, target)


def made_for(ledger: Ledger, claim: Claim) -> bool:
    return ledger.operation is not None and claim.identity.get(RECOVERY_MARK) == ledger.operation.uid


def _recover(now: Situation, ledger: Ledger, choice: Choice, claim_name: str) -> Task:
    assert ledger.operation is not None
    listener, *beside = now.cluster.spec.controller_listeners
    host = now.cluster.voter_host(choice.target)
    environment = {
        "CLUSTER_ID": ledger.cluster_id,
        "NODE_ID": str(choice.target),
        "GENERATION": str(ledger.generation),
        "DIRECTORY_ID": choice.directory_id,
        "NONCE": choice.nonce,
        "EPOCH": str(choice.epoch),
        "END": str(choice.end),
        "LAST_EPOCH": str(choice.last_epoch),
        "LISTENER": listener.name,
        "HOST": host,
        "PORT": str(listener.port),
    }
    if beside:  # while a cluster becomes secure: nobody's default may be missing in the entry of a voter (I2)
        environment["BESIDE"] = ",".join(f"{each.name}://{host}:{each.port}" for each in beside)
    if ledger.operation.type == OPERATION_TYPE:
        environment["CUT"] = "true"
    source, on = None, ""
    if choice.from_broker:
        found = claim_of(now, choice.seed)
        source = found.name if found is not None else None
        pod = now.observed.pod(choice.seed)
        on = pod.node if pod is not None else now.observed.archive_on if choice.seed == names.ARCHIVE_NODE else ""
    return Task(
        What.RECOVER.value,
        choice.target,
        claim_name,
        ledger.operation.uid,
        environment,
        read_only=False,
        source=source,
        on=on,
    )


def _claim_manifest(now: Situation, ledger: Ledger, node_id: int, name: str) -> Mapping[str, Any] | None:
    """As the node's StatefulSet would make it, and marked as ours."""
    assert ledger.operation is not None
    node_set = names.node_name(now.cluster.name, now.cluster.spec.controllers.name, node_id)
    live = next(
        (each.live for each in now.observed.children if (each.kind, each.name) == ("StatefulSet", node_set)), None
    )
    templates = ((live or {}).get("spec") or {}).get("volumeClaimTemplates") or ()
    if not templates:
        return None
    marks = {f"{names.GROUP}/{RECOVERY_MARK}": ledger.operation.uid}
    labels = templates[0]["metadata"].get("labels") or {}
    meta = {"name": name, "namespace": now.cluster.namespace, "labels": labels, "annotations": marks}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": templates[0]["spec"]}


def set_aside(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    choice = recovery.choice
    assert choice is not None
    actions: list[Action] = []
    waiting = False
    for node_id in choice.aside:
        claim = now.observed.claim(names.claim_name(now.cluster.name, now.cluster.spec.controllers.name, node_id))
        if claim is None or not claim.volume:
            continue
        assert ledger.operation is not None
        values = {"GENERATION": str(ledger.generation)}
        task = Task(What.SET_ASIDE.value, node_id, claim.name, ledger.operation.uid, values, read_only=False)
        helper = next((each for each in now.observed.helpers if each.name == task.name(now.cluster.name)), None)
        if helper is None:
            actions.append(run(now, task, "its directory is of the old generation"))
        waiting = waiting or helper is None or helper.report is None
    if waiting:
        return Verdict(actions=tuple(actions))
    return Verdict(ledger=next_generation(now, ledger, recovery, choice))


def next_generation(now: Situation, ledger: Ledger, recovery: Recovery, choice: Choice) -> Ledger:
    """Every directory of the old generation is written off; the quorum consists of the one that was made."""
    restores = is_restore(ledger)
    for entry in ledger.entries:
        if not controls(entry):
            ledger = ledger.with_entry(_on_its_copy(now, entry)) if restores else ledger
            continue
        gone = WrittenOff(entry.node_id, entry.directory_id, None, entry.nonce) if entry.directory_id else None
        fresh = Entry(
            entry.node_id,
            entry.role,
            entry.pool,
            rack=entry.rack,
            retired=entry.retired,
            replaces=entry.directory_id,
            host=entry.host,
        )
        written_off = (*ledger.written_off, *((gone,) if gone is not None else ()))
        ledger = replace(ledger.with_entry(fresh), written_off=written_off)
    name = names.claim_name(now.cluster.name, now.cluster.spec.controllers.name, choice.target)
    claim = now.observed.claim(name)
    entry = ledger.entry(choice.target) or Entry(choice.target, CONTROLLER.label, now.cluster.spec.controllers.name)
    made = replace(
        entry, directory_id=choice.directory_id, nonce=choice.nonce, pvc_name=name,
        pvc_uid=claim.uid if claim else None,
        pv_name=claim.volume if claim else None, min_epoch=choice.epoch, min_offset=choice.end + 2,
    )  # fmt: skip
    return replace(
        ledger.with_entry(made),
        formation=Formation.FORMED,
        generation=ledger.generation + 1,
        recovery=replace(recovery, stage=Stage.REJOIN),
    )


def _on_its_copy(now: Situation, entry: Entry) -> Entry:
    """A broker of a restored cluster: its directory is on the claim that is there now."""
    claim = next((each for each in now.observed.claims if each.node_id == entry.node_id and each.volume), None)
    if claim is None or entry.directory_id is None or claim.identity.get("directory-id") != entry.directory_id:
        return entry
    return replace(entry, pvc_name=claim.name, pvc_uid=claim.uid, pv_name=claim.volume)


def run(now: Situation, task: Task, why: str, claim: Mapping[str, Any] | None = None) -> RunHelper:
    asked = asked_for(now)
    manifest = helper_pod(now.cluster, now.images, task, (asked.name, asked.uid) if asked is not None else None)
    return RunHelper(manifest["metadata"]["name"], manifest, claim, f"{whose(task.node_id)}: {why}")
