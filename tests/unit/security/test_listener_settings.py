"""From properties to the security of each listener: which value applies, and what is wrong (SSL-03, 07, 13)."""

from __future__ import annotations

import pytest

from controller_runtime.configuration.client_security import BadClientSecurity, client_security
from controller_runtime.configuration.config import ConfigError, ServerConfig, from_properties
from controller_runtime.configuration.properties import parse_properties
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.tls_settings import ClientAuth, KeyStore, StoreType, TrustStore

BASE = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
controller.listener.names=CONTROLLER
listeners=CONTROLLER://:9093,INTERNAL://:9092,OUTER://:9094
inter.broker.listener.name=INTERNAL
listener.security.protocol.map=CONTROLLER:SSL,INTERNAL:SSL,OUTER:PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location=/etc/node.pem
ssl.truststore.type=PEM
ssl.truststore.location=/etc/ca.pem
"""


def config(*lines: str) -> ServerConfig:
    text = BASE + "\n".join(lines)
    return from_properties(parse_properties(text, "server.properties"), "server.properties")


def problems(*lines: str) -> str:
    with pytest.raises(ConfigError) as refused:
        config(*lines)
    return str(refused.value)


def test_a_listener_has_its_own_settings_where_it_states_them() -> None:
    found = config(
        "ssl.client.auth=required",
        "listener.name.internal.ssl.keystore.location=/etc/internal.pem",
        "listener.name.internal.ssl.client.auth=requested",
        "listener.name.internal.ssl.endpoint.identification.algorithm=",
    ).listener_security
    controller, internal, outer = found["CONTROLLER"].tls, found["INTERNAL"].tls, found["OUTER"]
    assert controller is not None
    assert internal is not None
    assert controller.keystore == KeyStore(StoreType.PEM, "/etc/node.pem")
    assert internal.keystore == KeyStore(StoreType.PEM, "/etc/internal.pem")
    assert controller.truststore == internal.truststore == TrustStore(StoreType.PEM, "/etc/ca.pem")
    assert (controller.client_auth, internal.client_auth) == (ClientAuth.REQUIRED, ClientAuth.REQUESTED)
    assert (controller.checks_host, internal.checks_host) == (True, False)
    assert (outer.protocol, outer.tls) == (SecurityProtocol.PLAINTEXT, None)


def test_inline_keys_come_with_their_chain_and_alone() -> None:
    inline = ("ssl.keystore.location=", "ssl.keystore.key=KEY", "ssl.keystore.certificate.chain=CHAIN")
    tls = config(*inline).listener_security["CONTROLLER"].tls
    assert tls is not None
    assert tls.keystore == KeyStore(StoreType.PEM, key="KEY", chain="CHAIN")
    assert "KEY" not in repr(tls).replace("KEYSTORE", "").replace("KeyStore", "")
    said = problems("ssl.keystore.key=THE-SECRET-KEY")
    assert "ssl.keystore.certificate.chain: SSL private key is specified, but certificate chain is not" in said
    assert "ssl.keystore.location: Both SSL key store location and separate private key are specified" in said
    assert "THE-SECRET-KEY" not in said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ssl.keystore.password=x", "SSL key store password cannot be specified with PEM format"),
        ("ssl.truststore.password=x", "SSL trust store password cannot be specified for PEM format"),
        ("ssl.keystore.type=BKS", "one of JKS, PKCS12, PEM is needed"),
        ("ssl.keystore.type=PKCS12", "key store password is not specified"),
        ("ssl.client.auth=maybe", "String must be one of: none, requested, required"),
        ("ssl.enabled.protocols=TLSv1.1,TLSv1.3", "TLSv1.1 is not safe, or not known"),
        ("ssl.cipher.suites=TLS_NULL_WITH_NULL_NULL", "TLS_NULL_WITH_NULL_NULL is not a cipher suite"),
        ("ssl.cipher.suites=TLS_AES_256_GCM_SHA384\nssl.enabled.protocols=TLSv1.2", "none of these suites belongs"),
        ("ssl.endpoint.identification.algorithm=LDAPS", "https, or nothing at all, is needed"),
        ("ssl.principal.mapping.rules=RULE:([/x/", "Invalid rule"),
        ("ssl.engine.factory.class=org.x.Engine", "the Java classes that it names would not be in force"),
        ("listener.name.internal.ssl.nonsense=1", "the settings of that listener would not be in force"),
        ("ssl.keystore.location=", "a listener that speaks TLS needs a certificate: name a key store"),
        ("security.inter.broker.protocol=SSL", "Only one of inter.broker.listener.name and security.inter.broker"),
    ],
)
def test_what_is_wrong_is_said_with_its_name(line: str, why: str) -> None:
    said = problems(line)
    assert why in said
    assert line.partition("=")[0].rpartition(".")[0] in said


def test_on_sasl_ssl_only_the_listeners_own_client_auth_counts() -> None:
    from controller_runtime.configuration.security import read_security
    from controller_runtime.configuration.settings import Settings

    def client_auth(*lines: str) -> ClientAuth:
        written = parse_properties(BASE + "\n".join(lines), "server.properties")
        found = read_security(
            Settings(written), "INTERNAL", SecurityProtocol.SASL_SSL, lambda name, why: pytest.fail(why), serves=True
        )
        assert found.tls is not None
        return found.tls.client_auth

    assert client_auth("ssl.client.auth=required") is ClientAuth.NONE
    assert client_auth("listener.name.internal.ssl.client.auth=required") is ClientAuth.REQUIRED


def test_the_security_of_brokers_among_themselves_may_name_the_listener() -> None:
    text = BASE.replace("inter.broker.listener.name=INTERNAL", "security.inter.broker.protocol=SSL")
    text = text.replace("INTERNAL", "SSL")
    from_properties(parse_properties(text, "server.properties"), "server.properties")


def test_a_client_says_security_protocol() -> None:
    found = client_security(
        {"security.protocol": "ssl", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/c"}, "x"
    )
    assert found.tls is not None
    assert (found.tls.truststore, found.tls.keystore) == (TrustStore(StoreType.PEM, "/c"), None)
    with pytest.raises(BadClientSecurity, match=r"Invalid value TLS for configuration security\.protocol"):
        client_security({"security.protocol": "TLS"}, "x")
    with pytest.raises(BadClientSecurity, match=r"ssl\.keystore\.password: SSL key store is specified"):
        client_security({"security.protocol": "SSL", "ssl.keystore.location": "/k"}, "x")
