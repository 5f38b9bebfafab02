"""How those who connect to a listener say who they are, out of the resource: `authentication` of a listener.

What is written here ends up on command lines and in quotes of JAAS, so every text has an alphabet of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kraft_operator.api.reader import InvalidSpec, Reader, duration
from kraft_operator.api.security import Authentication, OAuth

MAX_RULES: Final = 16
MAX_TRUSTED: Final = 32768
MIN_SESSION_SECONDS: Final = 5.0
"""Clients log in again when nine tenths of a session are over, and may not twice in a second."""
MAX_SESSION_SECONDS: Final = 365 * 86400.0
URL: Final = re.compile(r"https://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[A-Za-z0-9._~%=+/-]*)?")
_TEXT: Final = re.compile(r"[!-+\--\[\]-~]{1,512}")
"""No blank, comma or backslash: Kafka's lists and files would read them as something else."""
CLAIM: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_RULE: Final = re.compile(r"DEFAULT|RULE:(?:\\.|[^\\/\r\n]){1,256}/(?:\\.|[^\\/\r\n]){0,256}/[LU]?")
_CERTIFICATES: Final = re.compile(
    r"(\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]{1,16384}-----END CERTIFICATE-----\s*)+"
)
_BELONGS: Final = {"oauth": Authentication.OAUTH, "principalMappingRules": Authentication.TLS}


@dataclass(frozen=True, slots=True)
class Login:
    how: Authentication | None
    """None: the listener says nothing."""
    oauth: OAuth | None
    mapping_rules: tuple[str, ...]
    session_seconds: float | None
    """None: sessions do not end."""


def login_of(asked: Reader) -> Login:
    """Raises InvalidSpec."""
    how = asked.choice("type", Authentication, Authentication.NONE) if asked.has("type") else None
    for name, owner in _BELONGS.items():
        if asked.has(name) and how is not owner:
            raise InvalidSpec(asked.at(name), f"is for type {owner.value} only; set authentication.type or take it out")
    if how is Authentication.OAUTH and not asked.has("oauth"):
        raise InvalidSpec(asked.at("oauth"), "is needed by type OAuth: name the keys, issuer and audience of tokens")
    rules = asked.words("principalMappingRules")
    if len(rules) > MAX_RULES:
        raise InvalidSpec(asked.at("principalMappingRules"), f"are at most {MAX_RULES}, not {len(rules)}")
    for each in rules:
        if not _RULE.fullmatch(each):
            told = f"{each!r} is no rule such as RULE:^CN=([^,]+),.*$/$1/L, or DEFAULT"
            raise InvalidSpec(asked.at("principalMappingRules"), told)
    return Login(how, _oauth(asked.child("oauth")) if asked.has("oauth") else None, rules, _session(asked, how))


def _session(asked: Reader, how: Authentication | None) -> float | None:
    where = asked.at("sessionLifetime")
    text = asked.optional_text("sessionLifetime")
    if text is None:
        return None
    if how is None or not how.by_sasl:
        raise InvalidSpec(where, "is for types Scram and OAuth only; set authentication.type or take it out")
    seconds = duration(text, where)
    if not MIN_SESSION_SECONDS <= seconds <= MAX_SESSION_SECONDS:
        raise InvalidSpec(where, "must lie between 5s and 8760h")
    return seconds


def _oauth(asked: Reader) -> OAuth:
    url, issuer, audiences = asked.text("jwksURL"), asked.text("issuer"), asked.words("audiences")
    if not URL.fullmatch(url):
        told = f"{url!r} is no URL that begins with https:// and has neither query nor password"
        raise InvalidSpec(asked.at("jwksURL"), told)
    if not audiences:
        raise InvalidSpec(asked.at("audiences"), "name one at least: else tokens that were made for others are taken")
    for name, texts, allowed in (
        ("issuer", (issuer,), _TEXT),
        ("audiences", audiences, _TEXT),
        ("userClaim", (asked.text("userClaim", "sub"),), CLAIM),
        ("scopeClaim", (asked.text("scopeClaim", "scope"),), CLAIM),
    ):
        for each in texts:
            if not allowed.fullmatch(each):
                raise InvalidSpec(asked.at(name), f"{each!r} has letters that it may not have, or too many of them")
    trusted = asked.text("trustedCertificates", "") if asked.has("trustedCertificates") else ""
    if trusted and (len(trusted) > MAX_TRUSTED or not _CERTIFICATES.fullmatch(trusted)):
        raise InvalidSpec(asked.at("trustedCertificates"), "has to be certificates in PEM, and nothing else")
    return OAuth(
        url, issuer, audiences, user_claim=asked.text("userClaim", "sub"),
        scope_claim=asked.text("scopeClaim", "scope"), trusted="\n".join(trusted.split("\n")).strip(),
    )  # fmt: skip
