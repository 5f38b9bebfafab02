"""Who issues the certificates of a cluster, out of its resource: what is asked for, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.security import CertificateSource, IssuerRef, Security

pytestmark = pytest.mark.unit

PROVIDED = {"trustedSecret": "ca", "nodeSecret": "node-$(NODE_ID)", "operatorSecret": "own"}
ARCHIVE = {"storage": {"size": "1Gi"}}


def parse(tls: dict[str, Any], **spec: Any) -> Security:
    metadata = {"name": "demo", "namespace": "kafka", "uid": "u", "generation": 3}
    whole = {"image": {"reference": "a:1"}, "security": {"tls": tls}, **spec}
    return parse_cluster({"metadata": metadata, "spec": whole}).spec.security


def test_the_operator_issues_unless_the_resource_says_who_does() -> None:
    assert parse({}).source is CertificateSource.OPERATOR
    found = parse({"issuer": "CertManager", "issuerRef": {"name": "corp"}})
    assert (found.source, found.issuer) == (
        CertificateSource.CERT_MANAGER, IssuerRef("corp", "Issuer", "cert-manager.io"),
    )  # fmt: skip
    provided = parse({"issuer": "Provided", "provided": PROVIDED}).provided
    assert provided is not None
    assert (provided.node_secret(7), provided.operator) == ("node-7", "own")


@pytest.mark.parametrize(
    ("tls", "culprit"),
    [
        ({"issuer": "Nobody"}, "tls.issuer: 'Nobody' is none of OperatorCA, CertManager, Provided"),
        ({"issuer": "CertManager"}, "tls.issuerRef: is needed by issuer CertManager"),
        ({"issuerRef": {"name": "a"}}, "tls.issuerRef: is for issuer CertManager only"),
        ({"issuer": "CertManager", "issuerRef": {}}, "tls.issuerRef.name: is missing"),
        ({"issuer": "CertManager", "issuerRef": {"name": "A b"}}, "tls.issuerRef.name: 'A b' is no name"),
        ({"issuer": "CertManager", "issuerRef": {"name": "a", "kind": "a b"}}, "tls.issuerRef.kind: 'a b' is no kind"),
        ({"issuer": "CertManager", "issuerRef": {"name": "a", "group": "/"}}, "tls.issuerRef.group: '/' is no group"),
        ({"issuer": "CertManager", "issuerRef": {"name": "a"}, "validity": "30m"}, "tls.validity: must be 1h at least"),
        ({"issuer": "Provided"}, "tls.provided: is needed by issuer Provided"),
        ({"provided": PROVIDED}, "tls.provided: is for issuer Provided only"),
        ({"issuer": "Provided", "provided": {}}, "tls.provided.nodeSecret: is missing"),
        ({"issuer": "Provided", "provided": {**PROVIDED, "trustedSecret": ""}}, "provided.trustedSecret: is missing"),
        ({"issuer": "Provided", "provided": {**PROVIDED, "operatorSecret": "../x"}}, "provided.operatorSecret: '../x'"),
        ({"issuer": "Provided", "provided": {**PROVIDED, "nodeSecret": "$(NODE)"}}, "nodeSecret: '$(NODE)' is no name"),
        ({"issuer": "Provided", "provided": {**PROVIDED, "nodeSecret": "own"}}, "nodeSecret: 'own' is the operator's"),
        ({"issuer": "Provided", "provided": {**PROVIDED, "archiveSecret": 7}}, "archiveSecret: text is needed, not 7"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(tls: dict[str, Any], culprit: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse(tls)
    assert culprit in str(refused.value)


def test_an_archive_needs_a_certificate_of_somebody_too() -> None:
    with pytest.raises(InvalidSpec, match=r"provided\.archiveSecret: is needed by spec\.archive"):
        parse({"issuer": "Provided", "provided": PROVIDED}, archive=ARCHIVE)
    found = parse({"issuer": "Provided", "provided": {**PROVIDED, "archiveSecret": "own-too"}}, archive=ARCHIVE)
    assert found.provided is not None
    assert found.provided.archive == "own-too"
