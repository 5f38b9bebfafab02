"""Who a certificate says somebody is (SSL-08, 09, 10). The expected texts are Java's, which an interop test asks for
more.
"""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.network.tls import BadPeer, principal_of
from controller_runtime.security.der import BadDer, read_certificate
from controller_runtime.security.distinguished_names import name_text
from controller_runtime.security.mapping_rules import MAX_NAME, BadRules, NoMatchingRule, parse_rules
from controller_runtime.security.tls_settings import TlsSettings
from support.security.authority import Authority

CA = Authority()


def name(*attributes: tuple[x509.ObjectIdentifier, str]) -> str:
    subject = x509.Name([x509.NameAttribute(*one) for one in attributes])
    return name_text(read_certificate(CA.issue(subject).der).subject)


def test_the_most_specific_part_comes_first() -> None:
    assert name((NameOID.COUNTRY_NAME, "DE"), (NameOID.ORGANIZATION_NAME, "Q"), (NameOID.COMMON_NAME, "ann")) == (
        "CN=ann,O=Q,C=DE"
    )


def test_what_java_has_no_word_for_is_a_number_and_its_bytes() -> None:
    assert name((NameOID.EMAIL_ADDRESS, "a@b")) == "1.2.840.113549.1.9.1=#1603614062"
    assert name((NameOID.SERIAL_NUMBER, "7")) == "2.5.4.5=#130137"


@pytest.mark.parametrize(
    ("common_name", "text"),
    [
        ("ann,OU=admin", r"CN=ann\,OU\=admin"),
        (' #a+b<c>;"\\ ', r"CN=\ \#a\+b\<c\>\;\"\\\ "),
        ("zoë/x", "CN=zoë/x"),
        ("a\0b", r"CN=a\00b"),
    ],
)
def test_nobody_injects_parts_of_a_name(common_name: str, text: str) -> None:
    """ATK-15: a CN that holds ",OU=admin" is no OU, for no rule."""
    assert name((NameOID.COMMON_NAME, common_name)) == text


def test_parts_of_one_set_stay_together() -> None:
    subject = x509.Name(
        [
            x509.RelativeDistinguishedName(
                [x509.NameAttribute(NameOID.COMMON_NAME, "a"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "b")]
            )
        ]
    )
    assert name_text(read_certificate(CA.issue(subject).der).subject) == "CN=a+O=b"


@pytest.mark.parametrize(
    ("rules", "given_name", "principal"),
    [
        ("DEFAULT", "CN=Duke,O=x", "CN=Duke,O=x"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", "CN=Duke,OU=ServiceUsers,C=US", "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", "CN=Duke,C=US", "CN=Duke,C=US"),
        ("RULE:^CN=(.*?),(.*)$/$1@$2/L, RULE:x/y/", "CN=Duke,C=US", "duke@c=us"),
        ("RULE:^cn=([a-z]+)$/$1/U", "cn=duke", "DUKE"),
        (r"RULE:CN=([^\/]*)\/(.*)/$2\/$1/", "CN=a/b", "b/a"),
        ("RULE:CN=(.*)/$12/", "CN=a", "a2"),
        ("RULE:.*/x/", "CN=a", "xx"),
        ("RULE:CN=(.*)/$2/", "CN=a", "$2"),
    ],
)
def test_the_first_rule_that_matches_all_of_a_name_decides(rules: str, given_name: str, principal: str) -> None:
    assert parse_rules(rules).principal_name(given_name) == principal


@pytest.mark.parametrize(
    "rules", ["RULE:", "RULE:a/b", "RULE:a/b/X", "DEFAUL", "RULE:(/a/", "RULE:a/$/", "RULE:a/${b}/"]
)
def test_a_rule_that_cannot_be_read_is_named(rules: str) -> None:
    with pytest.raises(BadRules, match="Invalid rule: `"):
        parse_rules(rules)


def test_no_rule_or_a_name_without_end_is_nobody() -> None:
    """ATK-16: a pattern that takes for ever with a long name is given none."""
    rules = parse_rules("RULE:^CN=(a+)+$/x/")
    assert rules.principal_name("CN=aaa") == "x"
    for nobody in ("CN=b", "CN=" + "a" * MAX_NAME + "b"):
        with pytest.raises(NoMatchingRule, match="No rules apply to"):
            rules.principal_name(nobody)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_certificate_are_nobody(data: bytes) -> None:
    with pytest.raises(BadPeer):
        principal_of(TlsSettings(), data)


@given(at=st.integers(min_value=0), to=st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(at: int, to: int) -> None:
    der = bytearray(CERTIFICATE)
    der[at % len(der)] = to
    try:
        name_text(read_certificate(bytes(der)).subject)
    except BadDer:
        return


CERTIFICATE = CA.issue("node", hosts=["a.b", "127.0.0.1"]).der
