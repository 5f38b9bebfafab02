"""How the operator's own connections are secured: with its client certificate where the cluster is secure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.tls_settings import KeyStore, StoreType, TlsSettings, TrustStore
from kraft_operator.security.certificates import BadCertificate, Pair
from kraft_operator.security.secret_objects import TRUSTED, pair_of, text_of


def access_by(secret: Mapping[str, Any] | None) -> ListenerSecurity | None:
    """None while there is no certificate that could be shown. It holds the key, which its text leaves out."""
    try:
        pair, trusted = pair_of(secret or {}), text_of(secret or {}, TRUSTED)
    except BadCertificate:
        return None
    return secured_by(key_store(pair), trusted)


def key_store(pair: Pair) -> KeyStore:
    return KeyStore(StoreType.PEM, key=pair.key, chain=pair.certificate)


def secured_by(own: KeyStore, trusted: str) -> ListenerSecurity:
    """Showing this certificate, and trusting those who are named (in PEM)."""
    tls = TlsSettings(keystore=own, truststore=TrustStore(StoreType.PEM, certificates=trusted))
    return ListenerSecurity(SecurityProtocol.SSL, tls)
