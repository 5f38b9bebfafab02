"""What an action makes of what is seen of a cluster's certificates."""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.credentials import (
    Authority,
    CopyCertificate,
    CredentialAction,
    Credentials,
    Issued,
    MakeAuthority,
    PublishAuthorities,
    Request,
    RequestCertificate,
    Sourced,
    Succession,
    Turn,
    TurnAuthority,
)


def issued_after(known: Credentials, action: CredentialAction) -> Credentials:
    """Without an end, as nobody looks at a clock here."""
    if isinstance(action, TurnAuthority):
        return _turned(known, action)
    if isinstance(action, PublishAuthorities):
        return replace(known, published=action.fingerprints)
    if isinstance(action, RequestCertificate):
        sourced = known.sourced or Sourced()
        waits = Request(action.digest, "it is asked for")
        return replace(known, sourced=replace(sourced, requests={**sourced.requests, action.wanted.origin: waits}))
    if isinstance(action, CopyCertificate):
        secret, kept = action.wanted.secret, action.source or known.issued.get(action.wanted.secret, Issued())
        copied = replace(kept, uid=f"Secret/{secret}", version="", trusts=action.trusts, origin=action.wanted.origin)
        return replace(known, issued={**known.issued, secret: copied})
    if isinstance(action, MakeAuthority):
        asked = known.succession.asked if known.authority is not None else action.asked
        made = replace(
            known,
            authority=known.authority or Authority(f"authority {action.secret}"),
            succession=replace(known.succession, asked=asked),
            fault="",
        )
        return replace(made, published=made.trusted)
    wanted = action.wanted
    made_of = Issued(f"Secret/{wanted.secret}", "", wanted.subject.text, frozenset(wanted.hosts),
        issuer=action.authority, trusts=action.trusts)  # fmt: skip
    return replace(known, issued={**known.issued, wanted.secret: made_of})


def _turned(known: Credentials, action: TurnAuthority) -> Credentials:
    old, before = known.authority, known.succession
    at_rest = Succession(turns=before.turns + 1, asked=action.asked, uid=before.uid)
    match action.turn:
        case Turn.TRUST:
            return replace(known, succession=replace(at_rest, successor=f"after {action.replaced}"), proven=frozenset())
        case Turn.ISSUE:
            gone = replace(at_rest, predecessor=old.fingerprint if old is not None else "")
            return replace(known, authority=Authority(before.successor), succession=gone, proven=frozenset())
        case Turn.FORGET:
            return replace(known, succession=at_rest, proven=frozenset())
