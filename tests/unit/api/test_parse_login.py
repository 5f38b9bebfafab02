"""How clients of a listener say who they are, out of the resource: what is asked for, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.security import Authentication, OAuth

pytestmark = pytest.mark.unit

OAUTH = {"jwksURL": "https://id.example/jwks", "issuer": "https://id.example", "audiences": ["kafka"]}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def parse(authentication: dict[str, Any], **listener: Any) -> tuple[ListenerSpec, ...]:
    metadata = {"name": "demo", "namespace": "kafka", "uid": "u", "generation": 3}
    own = {"name": "REPLICATION", "port": 9091}
    other = {"name": "CLIENTS", "port": 9092, "authentication": authentication, **listener}
    spec = {"image": {"reference": "a:1"}, "endpoints": {"broker": [own, other]}}
    return parse_cluster({"metadata": metadata, "spec": spec}).spec.broker_listeners


def test_a_listener_for_certificates_and_one_for_tokens() -> None:
    own, certificates = parse({"type": "Tls", "principalMappingRules": ["RULE:^CN=(.*?),.*$/$1/L", "DEFAULT"]})
    assert (own.own, certificates.own) == (True, False), "clients with certificates are not let in at the brokers' own"
    assert certificates.mapping_rules == ("RULE:^CN=(.*?),.*$/$1/L", "DEFAULT")
    _, tokens = parse({"type": "OAuth", "oauth": {**OAUTH, "userClaim": "azp", "trustedCertificates": CERTIFICATE}})
    assert (tokens.authentication, tokens.tls) == (Authentication.OAUTH, True)
    assert tokens.oauth == OAuth(
        "https://id.example/jwks", "https://id.example", ("kafka",), user_claim="azp", trusted=CERTIFICATE.strip()
    )


def test_how_long_a_login_holds_is_the_listeners_to_say() -> None:
    assert [each.session_seconds for each in parse({"type": "Scram"})] == [None, None]
    assert parse({"type": "Scram", "sessionLifetime": "1h30m"})[1].session_seconds == 5400.0
    assert parse({"type": "OAuth", "oauth": OAUTH, "sessionLifetime": "5s"})[1].session_seconds == 5.0


@pytest.mark.parametrize(
    ("authentication", "listener", "culprit"),
    [
        ({"type": "OAuth"}, {}, "authentication.oauth: is needed by type OAuth"),
        ({"type": "Scram", "oauth": OAUTH}, {}, "authentication.oauth: is for type OAuth only"),
        ({"oauth": OAUTH}, {}, "authentication.oauth: is for type OAuth only"),
        ({"type": "Scram", "principalMappingRules": ["DEFAULT"]}, {}, "principalMappingRules: is for type Tls only"),
        ({"type": "Tls", "principalMappingRules": ["RULE:^CN=.*$"]}, {}, "'RULE:^CN=.*$' is no rule such as RULE:"),
        ({"type": "Tls", "principalMappingRules": ["DEFAULT,RULE:x/y/"]}, {}, "is no rule such as RULE:"),
        ({"type": "Tls", "principalMappingRules": ["DEFAULT"] * 17}, {}, "are at most 16, not 17"),
        ({"type": "OAuth", "oauth": {**OAUTH, "jwksURL": "http://id.example/"}}, {}, "oauth.jwksURL: 'http://id.exam"),
        ({"type": "OAuth", "oauth": {**OAUTH, "jwksURL": "https://a/ -Dx=y"}}, {}, "oauth.jwksURL: 'https://a/ -Dx=y"),
        ({"type": "OAuth", "oauth": {**OAUTH, "jwksURL": "https://a:b@c/"}}, {}, "oauth.jwksURL: 'https://a:b@c/'"),
        ({"type": "OAuth", "oauth": {**OAUTH, "audiences": []}}, {}, "oauth.audiences: name one at least"),
        ({"type": "OAuth", "oauth": {**OAUTH, "audiences": ["a,b"]}}, {}, "oauth.audiences: 'a,b' has letters"),
        ({"type": "OAuth", "oauth": {**OAUTH, "issuer": "a\nb"}}, {}, "oauth.issuer: 'a\\nb' has letters"),
        ({"type": "OAuth", "oauth": {"jwksURL": "https://a"}}, {}, "oauth.issuer: is missing"),
        ({"type": "OAuth", "oauth": {**OAUTH, "userClaim": "a b"}}, {}, "oauth.userClaim: 'a b' has letters"),
        (
            {"type": "OAuth", "oauth": {**OAUTH, "trustedCertificates": f'{CERTIFICATE}" x="'}},
            {},
            "oauth.trustedCertificates: has to be certificates in PEM",
        ),
        ({"type": "Tls", "sessionLifetime": "1h"}, {}, "sessionLifetime: is for types Scram and OAuth only"),
        ({"sessionLifetime": "1h"}, {}, "sessionLifetime: is for types Scram and OAuth only"),
        ({"type": "Scram", "sessionLifetime": "4s"}, {}, "sessionLifetime: must lie between 5s and 8760h"),
        ({"type": "Scram", "sessionLifetime": "8761h"}, {}, "sessionLifetime: must lie between 5s and 8760h"),
        ({"type": "Scram", "sessionLifetime": "1d"}, {}, "sessionLifetime: '1d' is not a duration"),
        ({"type": "OAuth", "oauth": OAUTH}, {"tls": "Disabled"}, "tokens of CLIENTS would be open to all"),
        ({"type": "Tls"}, {"tls": "Disabled"}, "connections of CLIENTS would be open to all"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    authentication: dict[str, Any], listener: dict[str, Any], culprit: str
) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse(authentication, **listener)
    assert culprit in str(refused.value)


def test_the_brokers_own_listener_is_for_no_client() -> None:
    rules = {"type": "Tls", "principalMappingRules": ["DEFAULT"]}
    own = {"name": "REPLICATION", "port": 9091, "authentication": rules}
    with pytest.raises(InvalidSpec, match="take principalMappingRules out of REPLICATION"):
        parse_cluster(
            {"metadata": {"name": "demo", "namespace": "kafka", "uid": "u"},
             "spec": {"image": {"reference": "a:1"}, "endpoints": {"broker": [own]}}}
        )  # fmt: skip
