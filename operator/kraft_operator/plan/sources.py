"""Certificates that somebody else issues: a Secret of somebody's, or one that cert-manager fills, is looked at, and
what is good is copied into the Secret that the node mounts. What is not good is said, and nothing is touched.

Another authority takes the place of one by the steps of `authority`, whatever its owner does in which order:

    **C1** Nobody is shown a certificate of an authority before every Secret names it, and every running node was seen
           to accept one of it (the operator's own new one). Clients, at whom nobody looks, are given time.
    **C2** An authority that its owner names no more is trusted still, until no Secret holds a certificate of it, and
           every running node was seen to show one of another.

Each write is of one Secret, and every pair of nodes understands each other between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kraft_operator.actions import Action
from kraft_operator.api import names
from kraft_operator.api.security import CertificateSource
from kraft_operator.credentials import (
    CopyCertificate,
    Credentials,
    Issued,
    PublishAuthorities,
    RequestCertificate,
    Sourced,
    Wanted,
)
from kraft_operator.plan.situation import Finding, Situation, Topic, Verdict
from kraft_operator.security.certificates import joined
from kraft_operator.security.due import renewed_from
from kraft_operator.security.identities import origin_of
from kraft_operator.security.sources import requested

REFUSED: Final = "CertificateRefused"
AWAITED: Final = "CertificatesAwaited"
TURNS: Final = "AuthorityRotates"
ENDS: Final = "CertificateEndsSoon"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is to be written, and what is to be told."""

    actions: tuple[Action, ...] = ()
    flaws: tuple[str, ...] = ()
    """What somebody has to correct."""
    awaited: tuple[str, ...] = ()
    turning: str = ""
    ends: tuple[str, ...] = ()


def keep_copies(now: Situation, seen: Credentials, wanted: Iterable[Wanted]) -> Verdict:
    kept = judged(now, seen, tuple(wanted))
    findings = []
    if kept.flaws:
        told = _some(kept.flaws) + ". Nothing that is in use was touched"
        findings.append(Finding(Topic.SECURITY, REFUSED, told, stalled=True))
    if kept.awaited:
        findings.append(Finding(Topic.SECURITY, AWAITED, _some(kept.awaited)))
    if kept.turning:
        findings.append(Finding(Topic.SECURITY, TURNS, kept.turning))
    if kept.ends and not kept.flaws:
        findings.append(Finding(Topic.SECURITY, ENDS, _some(kept.ends), stalled=True))
    copies = [f"{each.wanted.secret} ({each.reason})" for each in kept.actions if isinstance(each, CopyCertificate)]
    if copies:
        findings.append(Finding(Topic.SECURITY, "CertificatesDue", f"copied now: {_some(copies)}"))
    return Verdict(actions=kept.actions, findings=tuple(findings))


def judged(now: Situation, seen: Credentials, wanted: tuple[Wanted, ...]) -> Kept:
    sourced = seen.sourced or Sourced()
    asked = list(_requests(now, sourced, wanted))
    if sourced.fault or not sourced.bundle:
        awaits = _awaited(now, sourced, wanted) if not sourced.fault else ()
        return Kept(tuple(asked), (sourced.fault,) if sourced.fault else (), tuple(awaits))
    copies = {each.secret: seen.issued[each.secret] for each in wanted if _usable(seen.issued.get(each.secret))}
    trusts = _trusts(now, seen, sourced, copies.values())
    pem = joined(sourced.authorities[each] for each in trusts)
    actions: list[Action] = [*asked]
    if seen.published != trusts:
        why = "those who are trusted are others"
        actions.append(PublishAuthorities(names.authority_certificate(now.cluster.name), pem, trusts, why))
    flaws, turning, ends = [], [], []
    for each in wanted:
        copy, source = copies.get(each.secret), sourced.sources.get(each.origin)
        flaw = _flaw(now, each, source, copy)
        if flaw and not (source is None and now.cluster.spec.security.source is CertificateSource.CERT_MANAGER):
            flaws.append(flaw)
        if not flaw and source is not None and _ends(now, source):
            ends.append(f"put a renewed certificate into the Secret {each.origin}: two thirds of its life are over")
        held = "" if flaw or source is None else _held(now, seen, sourced, copies, copy, source)
        turning += [held] if held else []
        new = source if source is not None and not flaw and not held else None
        there = seen.issued.get(each.secret)
        why = _why(each, there, new, trusts)
        if why and (new is not None or copy is not None):
            uid, version = (there.uid, there.version) if there is not None else ("", "")
            actions.append(CopyCertificate(each, new, uid, version, trusted=pem, trusts=trusts, reason=why))
    told = f"another authority is on its way: {turning[0]}" if turning else ""
    if not told and set(trusts) != set(sourced.bundle):
        told = "an authority that is named no more is trusted until no node shows a certificate of it"
    return Kept(tuple(actions), tuple(flaws), tuple(_awaited(now, sourced, wanted)), told, tuple(ends))


def all_copied(now: Situation, seen: Credentials, wanted: Iterable[Wanted]) -> bool:
    """Every node has what it is to have."""
    kept = judged(now, seen, tuple(wanted))
    complete = seen.sourced is not None and not seen.sourced.fault and bool(seen.sourced.bundle)
    return complete and not (kept.actions or kept.flaws or kept.awaited or kept.turning)


def _usable(found: Issued | None) -> bool:
    return found is not None and not found.fault


def _trusts(now: Situation, seen: Credentials, sourced: Sourced, copies: Iterable[Issued]) -> tuple[str, ...]:
    """Whom every node is to trust now: those who are named, and those who are needed still (C2)."""
    some = tuple(copies)
    in_use = {each.issuer for each in some}
    held = dict.fromkeys(each for copy in some for each in copy.trusts)
    known = [each for each in held if each not in sourced.bundle and each in sourced.authorities]
    unproven = bool(_unproven(now, seen)) and not now.foreseen
    return (*sourced.bundle, *(each for each in known if each in in_use or unproven))


def _held(
    now: Situation, seen: Credentials, sourced: Sourced, copies: dict[str, Issued], copy: Issued | None, source: Issued
) -> str:
    """What keeps a certificate of another authority from being shown (C1); empty when nothing does."""
    if not copies or (copy is not None and copy.issuer == source.issuer):
        return ""
    if now.cluster.spec.security.on_its_way:
        return "the cluster has to be secure first, or plaintext again"
    if lacking := [secret for secret, each in copies.items() if source.issuer not in each.trusts]:
        return f"{_some(lacking)} learn to trust it"
    if copy is None and all(each.issuer == source.issuer for each in copies.values()):
        return ""
    own = sourced.sources.get(origin_of(now.cluster, names.operator_tls(now.cluster.name)))
    if own is None or own.fault or own.issuer != source.issuer:
        return "the operator's own certificate has to be of it first, to prove that nodes trust it"
    if not now.foreseen and (missing := _unproven(now, seen)):
        return f"nodes {', '.join(map(str, missing))} were not seen to trust it yet"
    return _clients_read(now, seen, copy) if copy is not None and not now.foreseen else ""


def _clients_read(now: Situation, seen: Credentials, copy: Issued) -> str:
    """Nobody looks at clients: they have time to read whom to trust, but for the last tenth of what is shown now."""
    waits = now.cluster.spec.security.wait_for_clients_seconds
    until = min(seen.published_since + waits, copy.ends - (copy.ends - copy.begins) / 10)
    if now.date is None or now.date.timestamp() >= until:
        return ""
    secret = names.authority_certificate(now.cluster.name)
    return f"clients have {waits / 3600:g} h to read {secret} again (spec.security.tls.rotation.waitForClients)"


def _unproven(now: Situation, seen: Credentials) -> list[int]:
    running = {each.node_id for each in now.observed.pods if each.main_started and not each.terminating}
    return sorted(running - seen.proven)


def _why(wanted: Wanted, there: Issued | None, new: Issued | None, trusts: tuple[str, ...]) -> str:
    """Why its Secret is to be written; empty when it is as it is to be."""
    if there is None:
        return "it is missing"
    if there.fault:
        return f"what is in its Secret cannot be used: {there.fault}"
    if set(there.trusts) != set(trusts):
        return "the authorities that its owner shall trust are others"
    if new is not None and there.fingerprint != new.fingerprint:
        return f"{wanted.origin} holds another certificate"
    return ""


def _flaw(now: Situation, wanted: Wanted, source: Issued | None, copy: Issued | None) -> str:
    """What is wrong with what somebody else has issued, and what to do about it."""
    name = wanted.origin
    if source is None:
        return f"make the Secret {name}: it is to hold tls.crt and tls.key for {wanted.subject.text}"
    if source.fault:
        return f"correct the Secret {name}: {source.fault}"
    if not source.issuer:
        return f"name the authority of {name} too: none of those that are trusted has signed it, or its chain has a gap"
    users = now.cluster.spec.security.super_users
    if source.subject not in (wanted.subject.text, *wanted.also) and f"User:{source.subject}" not in users:
        remedy = f"issue {name} for {wanted.subject.text}, or add User:{source.subject} to authorization.superUsers"
        return f"{remedy}: nobody would know whose certificate it is"
    if missing := [host for host in wanted.needed if not _covers(source.hosts, host)]:
        return f"issue {name} for {missing[0]} too: its subject alternative names do not cover it"
    date = now.date.timestamp() if now.date is not None else None
    if date is not None and date >= source.ends:
        return f"renew {name}: its certificate has ended"
    if date is not None and date < source.begins:
        return f"wait, or issue {name} anew: its certificate is not valid yet"
    if copy is None or copy.fingerprint == source.fingerprint:
        return ""
    remedy = f"or delete the Secret {wanted.secret} and restart its owner"
    if copy.subject != source.subject:
        return (
            f"issue {name} for {copy.subject} as before, {remedy}: a running node takes no certificate of another name"
        )
    if lost := sorted(host for host in copy.hosts if not _covers(source.hosts, host)):
        return f"issue {name} for {lost[0]} as before, {remedy}: a running node takes no certificate that lacks a host"
    return ""


def _covers(hosts: frozenset[str], host: str) -> bool:
    """By itself, or by a wildcard of one label."""
    return host in hosts or f"*.{host.partition('.')[2]}" in hosts


def _ends(now: Situation, source: Issued) -> bool:
    """Of Secrets that nobody renews by himself."""
    provided = now.cluster.spec.security.source is CertificateSource.PROVIDED
    return provided and now.date is not None and now.date.timestamp() >= renewed_from(source.begins, source.ends)


def _requests(now: Situation, sourced: Sourced, wanted: Iterable[Wanted]) -> Iterator[RequestCertificate]:
    if now.cluster.spec.security.source is not CertificateSource.CERT_MANAGER or sourced.fault:
        return
    for each in wanted:
        made, there = requested(now.cluster, each, ""), sourced.requests.get(each.origin)
        if there is None:
            yield requested(now.cluster, each, "nobody has asked for it")
        elif there.owned and there.digest != made.digest:
            yield requested(now.cluster, each, "what is asked for is another")


def _awaited(now: Situation, sourced: Sourced, wanted: Iterable[Wanted]) -> Iterator[str]:
    if now.cluster.spec.security.source is not CertificateSource.CERT_MANAGER:
        return
    for each in wanted:
        there = sourced.requests.get(each.origin)
        if there is not None and not there.owned:
            yield f"delete the Certificate {each.origin}, or name the cluster otherwise: it is somebody else's"
        elif there is not None and (there.waits or each.origin not in sourced.sources):
            yield f"see to the Certificate {each.origin}: it is not Ready: {there.waits or 'its Secret is missing'}"


def _some(texts: Iterable[str]) -> str:
    found = list(dict.fromkeys(texts))
    return "; ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
