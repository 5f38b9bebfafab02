"""Stores that Java's keytool made (SSL-04): JKS and PKCS#12, of keys and of trust.

The key of node.jks has a password of its own; its chain is the node's certificate and fixture-ca's.
"""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.network.tls import TlsError, client_context, load_material, server_context
from controller_runtime.security.der import read_certificate
from controller_runtime.security.distinguished_names import name_text
from controller_runtime.security.stores.contents import StoreError
from controller_runtime.security.stores.jks import read_jks_certificates, read_jks_key
from controller_runtime.security.stores.loading import key_material, trusted_certificates
from controller_runtime.security.tls_settings import KeyStore, StoreType, TlsSettings, TrustStore

MADE = Path(__file__).parent / "testdata"
JKS, PKCS12 = StoreType.JKS, StoreType.PKCS12
CA = base64.b64decode("".join((MADE / "ca.crt").read_text().splitlines()[1:-1]))


def read(name: str) -> bytes:
    return (MADE / name).read_bytes()


@pytest.mark.parametrize(
    ("kind", "file", "key_password"),
    [
        (JKS, "node.jks", "key-pass"),
        (PKCS12, "node.p12", None),
        (JKS, "node.p12", None),
        (PKCS12, "node.jks", "key-pass"),
    ],
)
def test_a_key_store_gives_the_key_and_its_chain(kind: StoreType, file: str, key_password: str | None) -> None:
    """Either type opens either format, as in Java."""
    store = KeyStore(kind, str(MADE / file), "store-pass", key_password)
    found = key_material(store, read(file))
    assert [name_text(read_certificate(one).subject) for one in found.chain] == ["CN=fixture-node", "CN=fixture-ca"]
    settings = TlsSettings(store)
    server_context(settings, load_material(settings))


@pytest.mark.parametrize(
    ("kind", "file", "password"),
    [
        (JKS, "trust.jks", "trust-pass"),
        (JKS, "trust.jks", None),
        (PKCS12, "trust.p12", "trust-pass"),
        (JKS, "trust.p12", "trust-pass"),
    ],
)
def test_a_trust_store_gives_its_certificates(kind: StoreType, file: str, password: str | None) -> None:
    store = TrustStore(kind, str(MADE / file), password)
    assert trusted_certificates(store, read(file)) == (CA,)
    settings = TlsSettings(truststore=store)
    client_context(settings, load_material(settings))


@pytest.mark.parametrize("file", ["node.jks", "node.p12"])
def test_a_wrong_password_is_refused_and_not_shown(file: str) -> None:
    for password, key_password in (("another-one", "key-pass"), ("store-pass", "another-one")):
        if file == "node.p12" and password == "store-pass":
            continue
        settings = TlsSettings(KeyStore(JKS, str(MADE / file), password, key_password))
        with pytest.raises(
            TlsError, match=r"Failed to load SSL keystore \(ssl\.keystore\.location=.*password"
        ) as refused:
            load_material(settings)
        assert "another-one" not in str(refused.value)


def test_a_store_without_a_key_is_no_key_store() -> None:
    for file, why in (
        ("trust.jks", "exactly one key is needed, it has 0"),
        ("trust.p12", "with a key and its certificate"),
    ):
        with pytest.raises(StoreError, match=why):
            key_material(KeyStore(JKS, file, "trust-pass"), read(file))


@given(at=st.integers(0, 5000), to=st.integers(0, 255))
def test_a_changed_store_is_refused(at: int, to: int) -> None:
    """By its digest; without a password, by what is wrong in it, if it can be seen."""
    data = bytearray(read("node.jks"))
    at %= len(data)
    if data[at] == to:
        return
    data[at] = to
    with pytest.raises(StoreError):
        read_jks_key(bytes(data), "store-pass", "key-pass")
    try:
        read_jks_certificates(bytes(data), None)
    except StoreError:
        return


@given(st.binary(max_size=200))
def test_what_is_no_store_is_refused(data: bytes) -> None:
    for kind in (JKS, PKCS12):
        with pytest.raises(StoreError):
            key_material(KeyStore(kind, "x", "pass"), data)
        with pytest.raises(StoreError):
            trusted_certificates(TrustStore(kind, "x"), data)
