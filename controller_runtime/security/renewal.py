"""May a new certificate take the place of the one that is shown now? Kafka's rules (`SslFactory`).

A node keeps its name and its hosts for as long as it runs: a certificate of somebody else in its file is a mistake far
more often than a wish. `ssl.allow.dn.changes` and `ssl.allow.san.changes` say that it is one.
"""

from __future__ import annotations

from controller_runtime.security.der import BadDer, Certificate, read_certificate
from controller_runtime.security.distinguished_names import name_text
from controller_runtime.security.stores.contents import StoreError
from controller_runtime.security.tls_settings import TlsSettings


def check_renewal(settings: TlsSettings, before: bytes, after: bytes) -> None:
    """`before`, `after`: DER. Raises StoreError."""
    old, new = _read(before), _read(after)
    if not settings.may_change_names and name_text(old.subject) != name_text(new.subject):
        raise StoreError(
            f"Keystore DistinguishedName does not match: existing={name_text(old.subject)!r}, "
            f"new={name_text(new.subject)!r} (ssl.allow.dn.changes)"
        )
    if not settings.may_lose_hosts and not old.hosts <= new.hosts:
        raise StoreError(
            f"Keystore SubjectAltNames do not match: {len(old.hosts - new.hosts)} of the existing ones are missing in "
            "the new certificate (ssl.allow.san.changes)"
        )


def _read(der: bytes) -> Certificate:
    try:
        return read_certificate(der)
    except BadDer as error:
        raise StoreError(f"a certificate cannot be read: {error}") from error
