"""Which certificates have to be made anew, and why: from what is wanted, what was read, and the time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from kraft_operator.credentials import Credentials, IssueCertificate, Issued, Wanted

RENEWED_AT: Final = 2 / 3
"""Of its life a certificate is renewed, so that a third is left for whoever has to mend what keeps it from being."""


def due(wanted: Iterable[Wanted], seen: Credentials, now: float | None) -> Iterator[IssueCertificate]:
    """`now`: seconds since 1970; None where time decides nothing."""
    authority = seen.authority
    if authority is None:
        return
    for each in wanted:
        found = seen.issued.get(each.secret)
        reason = "it is missing" if found is None else why(each, found, seen.trusted, now)
        if reason:
            uid, version = ("", "") if found is None else (found.uid, found.version)
            kept = _with_kept_hosts(each, found)
            signer = authority.fingerprint
            yield IssueCertificate(kept, signer, uid, version, reason=reason, trusts=seen.trusted)


def why(wanted: Wanted, found: Issued, trusted: tuple[str, ...], now: float | None) -> str:
    """Why this one has to be made anew; empty when it has not. The first of the `trusted` signs."""
    if found.fault:
        return f"what is in its Secret cannot be used: {found.fault}"
    if found.subject != wanted.subject.text:
        return f"its Secret holds a certificate of {found.subject}"
    if found.issuer != trusted[0]:
        return "it is of another authority"
    if set(found.trusts) != set(trusted):
        return "the authorities that its owner shall trust are others"
    if missing := [host for host in wanted.hosts if host not in found.hosts]:
        return f"it is not for {missing[0]}"
    if now is not None and now >= renewed_from(found.begins, found.ends):
        return "two thirds of its life are over" if now < found.ends else "it has ended"
    return ""


def renewed_from(begins: float, ends: float) -> float:
    return begins + RENEWED_AT * (ends - begins)


def _with_kept_hosts(wanted: Wanted, found: Issued | None) -> Wanted:
    """A running node takes no certificate that lacks a host of the one before."""
    if found is None or found.fault or found.subject != wanted.subject.text:
        return wanted
    return replace(wanted, hosts=tuple(dict.fromkeys((*wanted.hosts, *sorted(found.hosts)))))
