"""PEM stores take what Apache Kafka's take, and no more (SSL-01..03)."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from controller_runtime.network.tls import TlsError, load_material, server_context
from controller_runtime.security.stores.contents import StoreError
from controller_runtime.security.stores.pem import read_certificates, read_key
from controller_runtime.security.tls_settings import KeyStore, StoreType, TlsSettings
from support.security.authority import Authority

CA = Authority()
NODE = CA.issue("node-1")


def test_a_file_has_the_key_and_the_chain_in_any_order() -> None:
    between = Authority("intermediate", CA)
    node = between.issue("node-2")
    for text in (node.key_pem() + node.chain_pem, node.chain_pem + node.key_pem()):
        found = read_key(text, text, None)
        assert [*found.chain] == [one.public_bytes(Encoding.DER) for one in node.chain]
        assert found.key_pem == node.key_pem()


def test_how_lines_are_broken_and_what_stands_between_blocks_does_not_matter() -> None:
    text = f"Bag Attributes\n  friendlyName: node\n{NODE.chain_pem}\nsubject=CN = x\n{NODE.key_pem()}"
    on_one_line = NODE.pem().replace("\n", " ")
    assert (
        read_key(text, text, None) == read_key(on_one_line, on_one_line, None) == read_key(NODE.pem(), NODE.pem(), None)
    )


def test_an_encrypted_key_needs_its_password() -> None:
    text = NODE.pem("of-the-key")
    store = KeyStore(StoreType.PEM, key=text, chain=text, key_password="of-the-key")
    settings = TlsSettings(keystore=store)
    server_context(settings, load_material(settings))
    with pytest.raises(StoreError, match=r"encrypted: set ssl\.key\.password"):
        read_key(text, text, None)
    wrong = TlsSettings(keystore=KeyStore(StoreType.PEM, key=text, chain=text, key_password="another-one"))
    with pytest.raises(TlsError, match=r"is ssl\.key\.password the key's") as refused:
        server_context(wrong, load_material(wrong))
    assert "another-one" not in str(refused.value)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (rsa.generate_private_key(65537, 2048), "RSA PRIVATE KEY"),
        (ec.generate_private_key(ec.SECP256R1()), "EC PRIVATE KEY"),
    ],
)
def test_older_forms_of_keys_are_refused_with_the_remedy(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, why: str
) -> None:
    text = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    with pytest.raises(StoreError, match=f'openssl pkcs8 -topk8"\\): "{why}" is not supported'):
        read_key(text, NODE.chain_pem, None)


def test_exactly_one_key_and_at_least_one_certificate() -> None:
    with pytest.raises(StoreError, match="No private key entries"):
        read_key(NODE.chain_pem, NODE.chain_pem, None)
    with pytest.raises(StoreError, match="found several"):
        read_key(NODE.key_pem() * 2, NODE.chain_pem, None)
    with pytest.raises(StoreError, match="At least one certificate"):
        read_key(NODE.key_pem(), NODE.key_pem(), None)


def test_a_key_of_another_kind_is_refused() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(StoreError, match="none of RSA, EC, DSA"):
        read_key(text, NODE.chain_pem, None)


def test_a_key_of_another_certificate_is_refused() -> None:
    settings = TlsSettings(keystore=KeyStore(StoreType.PEM, key=CA.issue().key_pem(), chain=NODE.chain_pem))
    with pytest.raises(TlsError, match="key values mismatch"):
        server_context(settings, load_material(settings))


@pytest.mark.parametrize("der", [b"", b"\x30", b"\x30\x82\xff\xff", b"\x30\x03\x02\x01\x01", b"\x30\x80\x00\x00"])
def test_what_is_no_certificate_is_refused(der: bytes) -> None:
    from controller_runtime.security.stores.contents import pem_of

    if der:
        with pytest.raises(StoreError, match="cannot be read"):
            read_certificates(pem_of("CERTIFICATE", der))
    assert read_certificates("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----") == ()
    with pytest.raises(StoreError, match="base64"):
        read_certificates("-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----")
