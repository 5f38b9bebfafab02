"""The Secret of an authority, and of the one that takes its place.

One object holds both, so that each step is one write that happens whole or not at all, and who finds the Secret knows
where things stand. `tls.crt` and `tls.key` are of the authority that signs. While another one is trusted already:
`next.crt`, `next.key`, and `probe.crt`, `probe.key`, a certificate of it for the operator, which nodes accept as soon
as they trust it. While the one before is trusted still: `previous.crt`; its key is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.credentials import Authority, Succession
from kraft_operator.security.certificates import BadCertificate, Pair, all_facts, check_authority, facts, read
from kraft_operator.security.secret_objects import (
    CERTIFICATE,
    KEY,
    Secret,
    pair_of,
    secret_object,
    text_of,
    with_volumes,
)

NEXT: Final = ("next.key", "next.crt")
PROBE: Final = ("probe.key", "probe.crt")
PREVIOUS: Final = "previous.crt"
ANNOTATION_SINCE: Final = f"{names.GROUP}/authority-since"
ANNOTATION_TURNS: Final = f"{names.GROUP}/authority-turns"
ANNOTATION_ASKED: Final = f"{names.GROUP}/rotated"


@dataclass(frozen=True, slots=True)
class Keys:
    """What the Secret holds. Of `successor` and `previous` at most one is there."""

    signing: Pair
    successor: Pair | None = None
    probe: Pair | None = None
    """The operator's, of the successor."""
    previous: str = ""
    """The certificate of the one before."""

    @property
    def trusted(self) -> str:
        """Certificates of those whom everybody shall trust, the one that signs first."""
        after = self.successor.certificate if self.successor is not None else ""
        return self.signing.certificate + after + self.previous

    @property
    def fingerprints(self) -> tuple[str, ...]:
        return tuple(each.fingerprint for each in all_facts(self.trusted))


def authority_secret(
    cluster: KRaftCluster, name: str, keys: Keys, *, since: float = 0.0, turns: int = 0, asked: str = ""
) -> Secret:
    data = {CERTIFICATE: keys.signing.certificate, KEY: keys.signing.key}
    for (key, certificate), pair in ((NEXT, keys.successor), (PROBE, keys.probe)):
        if pair is not None:
            data |= {key: pair.key, certificate: pair.certificate}
    if keys.previous:
        data[PREVIOUS] = keys.previous
    made = secret_object(cluster, name, data, with_volumes(cluster))
    made["metadata"]["annotations"] = {
        ANNOTATION_SINCE: f"{since:.0f}", ANNOTATION_TURNS: str(turns), ANNOTATION_ASKED: asked,
    }  # fmt: skip
    return made


def keys_of(secret: Mapping[str, Any]) -> Keys:
    """Raises BadCertificate, also for a key that is not its certificate's, and one that may not sign."""
    signing = pair_of(secret)
    check_authority(signing)
    data = secret.get("data") or {}
    if NEXT[1] not in data:
        return Keys(signing, previous=text_of(secret, PREVIOUS) if PREVIOUS in data else "")
    successor, probe = _pair(secret, NEXT), _pair(secret, PROBE)
    read(successor, successor.certificate)
    _, signer, _ = read(probe, successor.certificate)
    if not signer:
        raise BadCertificate(f"its {PROBE[1]} is not of its {NEXT[1]}")
    return Keys(signing, successor, probe)


def authority_of(secret: Mapping[str, Any]) -> tuple[Authority, Succession]:
    """Raises BadCertificate."""
    keys, meta = keys_of(secret), secret["metadata"]
    found, marks = facts(keys.signing.certificate), meta.get("annotations") or {}
    after = facts(keys.successor.certificate).fingerprint if keys.successor is not None else ""
    before = facts(keys.previous).fingerprint if keys.previous else ""
    return Authority(found.fingerprint, found.begins, found.ends), Succession(
        after, before, _number(marks.get(ANNOTATION_SINCE)), int(_number(marks.get(ANNOTATION_TURNS))),
        asked=marks.get(ANNOTATION_ASKED, ""), uid=meta["uid"], version=meta.get("resourceVersion", ""),
    )  # fmt: skip


def _pair(secret: Mapping[str, Any], names_of: tuple[str, str]) -> Pair:
    key, certificate = names_of
    return Pair(text_of(secret, key), text_of(secret, certificate))


def _number(text: str | None) -> float:
    """Zero for what somebody else has written there."""
    try:
        found = float(text or 0)
    except ValueError:
        return 0.0
    return found if 0 <= found < 1e15 else 0.0
