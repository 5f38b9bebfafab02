"""The policy: an ordered tuple of rules, and the one function that runs them.

First who the cluster is, then what its disks are and which of them are lost, then which nodes exist, then the children
and permission for disks, then the voters, then restarts. At most one step a pass disturbs the voters. Rules edit the
ledger as a value; whatever they changed is written once, before the first action, so that every step is journaled
before it is taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kraft_operator.actions import DISRUPTIVE, VOTERS_FEEL, Action, UncordonBroker, UnregisterBroker, WriteLedger
from kraft_operator.api.spec import LifecycleState, VolumePolicy
from kraft_operator.ledger import Ledger
from kraft_operator.operations.recovery import HELD
from kraft_operator.plan.archive import keep_archive
from kraft_operator.plan.archive_copy import tell_archive_copy
from kraft_operator.plan.audit import tell_audit
from kraft_operator.plan.authority import turn_authority
from kraft_operator.plan.disks.adoption import (
    find_the_ledger,
    hold_while_suspended,
    refuse_another_cluster_id,
    refuse_taken_node_ids,
    wait_for_the_past_to_go,
)
from kraft_operator.plan.disks.claims import at_risk, guard_claims, keep_guarded
from kraft_operator.plan.disks.copies import hold_copies, restored
from kraft_operator.plan.disks.ephemeral import lost_with_pods, refuse_another_storage
from kraft_operator.plan.disks.further import keep_volumes, know_claims_again, of_each_volume
from kraft_operator.plan.disks.grants import grant_disks, nudge_gates, restart_stuck_gates, start_formation
from kraft_operator.plan.disks.identity import (
    annotate_claims,
    learn_identities,
    note_the_formed_quorum,
    settle_the_journal,
    tell_racks,
)
from kraft_operator.plan.disks.recall import find_the_memory_too_large, remember
from kraft_operator.plan.disks.removal import remove_volumes
from kraft_operator.plan.disks.volumes import grow_volumes
from kraft_operator.plan.giving_up import tell_leaderless, waits_for_the_plan
from kraft_operator.plan.nodes.combined import keep_the_role, replace_lost_nodes
from kraft_operator.plan.nodes.cordon import opened
from kraft_operator.plan.nodes.exposure import find_addresses
from kraft_operator.plan.nodes.health import report_pods
from kraft_operator.plan.nodes.hibernation import put_to_sleep
from kraft_operator.plan.nodes.membership import choose_brokers, choose_controllers, retired
from kraft_operator.plan.nodes.registrations import clear_registrations
from kraft_operator.plan.nodes.replacement import replace_lost_brokers
from kraft_operator.plan.operating.reports import reports
from kraft_operator.plan.operating.running import attend_operations, clear_operations, with_stamp
from kraft_operator.plan.outline.approval import UNDER_WAY, costs_data, held_back, keep_budget, nodes_that_are, waiting
from kraft_operator.plan.outline.named import CHANGES_ITS_OWNER
from kraft_operator.plan.outline.published import holds_everything, outline, stopped
from kraft_operator.plan.protecting import protect_claims
from kraft_operator.plan.recovery.from_archive import form_from_archive, forms_from_archive, tell_formed_before
from kraft_operator.plan.recovery.stages import end_helpers, recover_quorum
from kraft_operator.plan.rollout.children import sync_children
from kraft_operator.plan.rollout.revisions import judge_revisions
from kraft_operator.plan.rollout.rolling import roll_pods
from kraft_operator.plan.rollout.versions import finalize_versions
from kraft_operator.plan.securing import become_secure, tell_who_waits
from kraft_operator.plan.security import keep_certificates, keep_the_mode
from kraft_operator.plan.situation import NOTHING, Decision, Finding, Rule, Situation, Verdict
from kraft_operator.plan.steps import Approved
from kraft_operator.plan.users import keep_users
from kraft_operator.plan.voters.domains import judge_domains
from kraft_operator.plan.voters.endpoints import correct_endpoints, refuse_moved_voters
from kraft_operator.plan.voters.membership import (
    add_caught_up_voters,
    discard_old_copies,
    remove_surplus_voters,
)
from kraft_operator.users import UserAction

RULES: Final[tuple[Rule, ...]] = (
    report_pods,
    hold_while_suspended,
    wait_for_the_past_to_go,
    refuse_moved_voters,
    find_the_ledger,
    keep_the_mode,
    keep_the_role,
    refuse_another_cluster_id,
    refuse_taken_node_ids,
    refuse_another_storage,
    tell_formed_before,
    learn_identities,
    of_each_volume(learn_identities),
    know_claims_again,
    note_the_formed_quorum,
    settle_the_journal,
    guard_claims,
    of_each_volume(guard_claims),
    judge_domains,
    attend_operations,
    clear_operations,
    end_helpers,
    start_formation,
    replace_lost_nodes,
    judge_revisions,
    choose_controllers,
    choose_brokers,
    remove_volumes,
    replace_lost_brokers,
    of_each_volume(replace_lost_brokers),
    tell_leaderless,
    find_the_memory_too_large,
    clear_registrations,
    put_to_sleep,
    grow_volumes,
    keep_volumes,
    find_addresses,
    protect_claims,
    keep_guarded,
    keep_certificates,
    turn_authority,
    sync_children,
    tell_racks,
    grant_disks,
    of_each_volume(grant_disks),
    nudge_gates,
    annotate_claims,
    of_each_volume(annotate_claims),
    discard_old_copies,
    restart_stuck_gates,
    add_caught_up_voters,
    remove_surplus_voters,
    correct_endpoints,
    roll_pods,
    become_secure,
    finalize_versions,
    keep_users,
    keep_archive,
    tell_archive_copy,
    tell_audit,
)


UPKEEP: Final[tuple[Rule, ...]] = (
    learn_identities,
    of_each_volume(learn_identities),
    know_claims_again,
    note_the_formed_quorum,
    settle_the_journal,
    guard_claims,
    of_each_volume(guard_claims),
    keep_budget,
    keep_certificates,
    tell_racks,
    nudge_gates,
    annotate_claims,
    of_each_volume(annotate_claims),
    clear_operations,
    end_helpers,
)
"""What may be done while a plan waits for approval: see `approval`."""


RECOVERY: Final[tuple[Rule, ...]] = (
    report_pods,
    hold_while_suspended,
    wait_for_the_past_to_go,
    keep_the_role,
    refuse_another_cluster_id,
    settle_the_journal,
    guard_claims,
    of_each_volume(guard_claims),
    attend_operations,
    clear_operations,
    judge_revisions,
    choose_controllers,
    choose_brokers,
    recover_quorum,
    keep_guarded,
    keep_certificates,
    tell_who_waits,
    sync_children,
    tell_racks,
)
"""What is done while a lost quorum is recovered: no disk is granted, no voter changed, no pod restarted."""


RESTORED: Final[tuple[Rule, ...]] = (
    report_pods,
    hold_while_suspended,
    wait_for_the_past_to_go,
    find_the_ledger,
    keep_the_mode,
    keep_the_role,
    refuse_another_cluster_id,
    refuse_taken_node_ids,
    settle_the_journal,
    attend_operations,
    choose_controllers,
    choose_brokers,
    hold_copies,
    sync_children,
)
"""What is done with a cluster that came out of a backup, before its copies were compared: no pod is started."""


FROM_ARCHIVE: Final[tuple[Rule, ...]] = (
    report_pods,
    hold_while_suspended,
    wait_for_the_past_to_go,
    find_the_ledger,
    keep_the_mode,
    keep_the_role,
    refuse_another_cluster_id,
    refuse_taken_node_ids,
    settle_the_journal,
    choose_controllers,
    choose_brokers,
    form_from_archive,
    keep_certificates,
    sync_children,
)
"""What is done while a new cluster is formed from an archive: no pod is started."""


def plan(now: Situation) -> Decision:
    """What is to be done now, and what may cost data although it is as it was asked for."""
    decision, risks = _plan(now), tuple(each for each in (at_risk(now), lost_with_pods(now)) if each)
    return replace(decision, risks=risks) if risks else decision


def _plan(now: Situation) -> Decision:
    """Decide, lay out the whole way, and hold everything but upkeep while somebody has to approve it. A recovery has an
    approval of its own.
    """
    if forms_from_archive(now):
        forming, _, _ = decided(now, FROM_ARCHIVE)
        return replace(forming, outline=stopped(now.published))
    if now.ledger is not None and now.ledger.recovery is not None and now.ledger.recovery.stage in HELD:
        recovering, _, _ = decided(now, RECOVERY)
        return replace(recovering, outline=stopped(now.published))
    if restored(now):
        held, _, _ = decided(now, RESTORED)
        return replace(held, outline=stopped(now.published))
    decision, after, stop = decided(now, RULES)
    if stop:
        return replace(decision, outline=stopped(now.published))
    way = outline(now, after, decision, by_the_rules)
    if not holds_everything(now.cluster, way.approved):
        warned = (costs_data(now.cluster, way),) if way.approved is Approved.NO else ()
        return replace(decision, findings=(*decision.findings, *warned), outline=way)
    kept, _, _ = decided(now, UPKEEP)
    findings = tuple(each for each in decision.findings if each.reason not in UNDER_WAY)
    return replace(
        kept,
        findings=(waiting(now.cluster, way), *findings),
        nodes=nodes_that_are(now),
        suspects=frozenset(each for each in decision.suspects if not waits_for_the_plan(each)),
        reports=held_back(decision.reports, way),
        outline=way,
    )


def by_the_rules(now: Situation) -> tuple[Decision, Situation, bool]:
    return decided(now, RULES)


def decided(now: Situation, rules: tuple[Rule, ...]) -> tuple[Decision, Situation, bool]:
    """What these rules decide, the situation as they left it, and whether one of them stopped the others."""
    before, restart, stop = now.ledger, now.cluster.restart, False
    actions: list[Action] = []
    findings: list[Finding] = []
    suspects: frozenset[str] = frozenset()
    for rule in rules:
        verdict = rule(now)
        actions += verdict.actions
        findings += verdict.findings
        suspects |= verdict.suspects
        now = _after(now, verdict, restart)
        if verdict.stop:
            stop = True
            break
    ordered = _in_order(now, before, actions, stop=stop)
    reported = reports(now, before, findings)
    return (
        Decision(ordered, tuple(findings), now.ledger, nodes=now.nodes, suspects=suspects, reports=reported),
        now,
        stop,
    )


def _after(now: Situation, verdict: Verdict, restart: str) -> Situation:
    """`restart` is the stamp that the resource itself asks for; the last RollingRestart adds its own."""
    ledger = verdict.ledger or now.ledger
    stamp = with_stamp(restart, ledger) if ledger is not None else now.cluster.restart
    if verdict == NOTHING and stamp == now.cluster.restart:
        return now  # of most rules; a copy of the situation costs as much as they do
    return replace(
        now,
        cluster=now.cluster if stamp == now.cluster.restart else replace(now.cluster, restart=stamp),
        ledger=ledger,
        nodes=now.nodes if verdict.nodes is None else verdict.nodes,
        replacing=now.replacing | verdict.replacing,
        guarded=now.guarded | verdict.guarded,
        rolled_back={**now.rolled_back, **verdict.rolled_back},
        bad=now.bad or verdict.bad,
        stepped=now.stepped or any(isinstance(action, VOTERS_FEEL) for action in verdict.actions),
    )


def _owner_changed(now: Situation) -> bool:
    """Whether the ledger goes with the resource is not what spec.deletionPolicy.volumes says now."""
    if now.cluster.spec.lifecycle is LifecycleState.SUSPENDED:
        return False
    wanted = (now.cluster.uid,) if now.cluster.spec.volume_policy is VolumePolicy.DELETE else ()
    stale = any(uid != now.cluster.uid for uid in now.observed.ledger_owners)
    return not stale and now.observed.ledger_owners != wanted


def _in_order(now: Situation, before: Ledger | None, actions: list[Action], *, stop: bool) -> tuple[Action, ...]:
    """The journal first, then what has to outlive it; what cannot be taken back last, followed by the note that it is
    done. Users come after all that the cluster itself needs.
    """
    ledger = now.ledger
    if ledger is None:
        assert not actions, f"nothing may be done without a ledger, not {actions[0]}"
        return ()
    final = [action for action in actions if isinstance(action, DISRUPTIVE)]
    of_users = [action for action in actions if isinstance(action, UserAction)]
    journal: list[Action] = []
    if ledger != before or _owner_changed(now):
        reason = "it is new" if before is None else "it learned or permitted something"
        ledger = replace(ledger, serial=ledger.serial + 1)
        journal.append(WriteLedger(ledger, reason if now.ledger != before else CHANGES_ITS_OWNER))
    journal += () if stop else remember(now.observed, ledger)
    done = ledger
    for action in final:
        if isinstance(action, UnregisterBroker):
            done = retired(done, action.step)
        if isinstance(action, UncordonBroker):
            done = opened(done, action.step)
    others = [action for action in actions if not isinstance(action, (*DISRUPTIVE, UserAction))]
    note = [WriteLedger(replace(done, serial=done.serial + 1), "the step is done")] if done != ledger else []
    return (*journal, *others, *final, *note, *of_users)
