"""Another authority in the place of the one that there is, in three steps, so that nobody is ever shown a certificate
of somebody unknown:

    TRUST    the new one is made and trusted beside the old one, which goes on to sign;
    ISSUE    the new one signs, the old one is trusted still, its key is thrown away;
    FORGET   the old one is not trusted any more.

**C0.** No step is taken while a node runs that is not ours, as when a cluster is taken over: nobody can see whom it
trusts. **C1.** ISSUE is safe when every node that runs trusts the new authority: it was seen to accept a certificate of
it. Whoever starts later reads a Secret that says so. **C2.** FORGET is safe when every node that runs shows a
certificate of the new authority: it was seen to, by somebody who trusts no other one. Clients are nobody's to look at:
they are given time to read their Secret again (spec.security.tls.rotation.waitForClients). Between the steps every pair
of nodes understands each other, whichever of them has read its Secret already, so they may be reached one by one and in
any order; and as each step is one write of one Secret, an operator may die at any of them.
"""

from __future__ import annotations

from typing import Final

from kraft_operator.api import names
from kraft_operator.credentials import Authority, Credentials, Turn, TurnAuthority
from kraft_operator.observed import QuorumState
from kraft_operator.plan.security import not_ours, wanted_certificates
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called, verb
from kraft_operator.security.due import due, renewed_from
from kraft_operator.security.identities import authority_subject, operator_subject

ROTATES: Final = "AuthorityRotates"
"""Reason of what is told meanwhile: the cluster is as good as ever."""


def turn_authority(now: Situation) -> Verdict:
    seen = now.observed.credentials
    security = now.cluster.spec.security
    if not security.closed or seen is None or seen.authority is None or seen.fault:
        return NOTHING
    if not seen.published and not seen.issued:
        return NOTHING  # nobody trusts it yet
    if any(each.origin for each in seen.issued.values()):
        return NOTHING  # they are somebody else's: `keep_certificates` says so
    turn, why = _next(now, seen)
    if turn is None:
        return NOTHING
    if held := _held(now, seen):
        return Verdict(findings=(Finding(Topic.SECURITY, ROTATES, f"{why}: {held}", names.authority_key(_name(now))),))
    replaced = seen.succession.predecessor or seen.authority.fingerprint
    asked = now.cluster.rotate if turn is Turn.TRUST else seen.succession.asked
    key, known = names.authority_key(_name(now)), seen.succession
    action = TurnAuthority(
        key, turn, authority_subject(now.cluster), operator=operator_subject(now.cluster), replaced=replaced,
        uid=known.uid, version=known.version, asked=asked, reason=why,
    )  # fmt: skip
    return Verdict(actions=(action,), findings=(Finding(Topic.SECURITY, ROTATES, why, key),))


def _next(now: Situation, seen: Credentials) -> tuple[Turn | None, str]:
    """The step that is to be taken when it may, and why."""
    known, authority = seen.succession, seen.authority
    assert authority is not None
    if known.successor:
        return Turn.ISSUE, "another authority is on its way; everybody learns to trust it"
    if known.predecessor:
        return Turn.FORGET, "another authority signs; everybody gets a certificate of it"
    if now.cluster.rotate and now.cluster.rotate != known.asked:
        return Turn.TRUST, "another authority is asked for"
    if _has_ended(now, authority):
        return Turn.TRUST, "the authority has ended: nobody trusts anybody before another one signs"
    if now.date is not None and now.date.timestamp() >= renewed_from(authority.begins, authority.ends):
        return Turn.TRUST, "two thirds of the authority's life are over"
    return None, ""


def _has_ended(now: Situation, authority: Authority) -> bool:
    """By the operator's clock: then no node takes any certificate of it."""
    return now.date is not None and now.date.timestamp() >= authority.ends


def _held(now: Situation, seen: Credentials) -> str:
    """What keeps the next step; empty when nothing does."""
    if others := not_ours(now):
        return f"{called('node', others)} {verb(others, 'has', 'have')} to be taken over first (C0)"
    # Of an authority that has ended there is no quorum to wait for, nobody who could prove anything, and no connection
    # to lose. A quorum that is there says that the operator's clock is wrong: then everything is proven as ever.
    is_there = now.observed.quorum.state is QuorumState.AVAILABLE
    ended = not is_there and seen.authority is not None and _has_ended(now, seen.authority)
    if not is_there and not ended:
        return "the quorum has to be available first"
    if seen.published != seen.trusted or any(due(wanted_certificates(now), seen, None)):
        return "what the last step asks for is being written"
    users = now.observed.users
    if users is not None and any(
        each.settings != users.settings_by(each.by) for each in users.secrets.values() if each.owner
    ):
        return "the Secrets of users are being written"
    known = seen.succession
    if now.foreseen or not known.trusted or ended:
        return ""
    if missing := _unproven(now, seen):
        what = "trust it" if known.successor else "show a certificate of it"
        return f"nodes {missing} were not seen to {what} yet"
    waits = now.cluster.spec.security.wait_for_clients_seconds
    left = known.since + waits - now.date.timestamp() if now.date is not None else waits
    if left > 0:
        return f"clients have {waits / 3600:g} h to read their Secret again (spec.security.tls.rotation.waitForClients)"
    return ""


def _unproven(now: Situation, seen: Credentials) -> str:
    running = {each.node_id for each in now.observed.pods if each.main_started and not each.terminating}
    return ", ".join(map(str, sorted(running - seen.proven)))


def _name(now: Situation) -> str:
    return now.cluster.name
