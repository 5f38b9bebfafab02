"""TLS by the standard library: settings and the files they name become contexts, and a peer becomes a principal.

Keys never touch a disk of ours: OpenSSL reads them from memory that has no name in any directory. A context is never
changed; a reload makes new ones for later connections, and those that are open keep theirs. Any certificate of a trust
store is an anchor, as in Java, also one that others have issued.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Final

from controller_runtime.security.cipher_suites import choose
from controller_runtime.security.der import BadDer, read_certificate
from controller_runtime.security.distinguished_names import name_text
from controller_runtime.security.listener_security import SecurityError
from controller_runtime.security.protocols import ANONYMOUS
from controller_runtime.security.stores.contents import KeyMaterial, StoreError, pem_of
from controller_runtime.security.stores.loading import key_material, trusted_certificates
from controller_runtime.security.tls_settings import ClientAuth, KeyStore, TlsSettings, TrustStore
from controller_runtime.values import dataclass

HANDSHAKE_SECONDS: Final = 10.0
"""From the first byte to the last of a handshake."""
SHUTDOWN_SECONDS: Final = 2.0
"""For the peer's half of an orderly end."""
MAX_STORE_BYTES: Final = 16 << 20
_ROUNDS: Final = 10
"""More than a handshake has."""
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


class TlsError(SecurityError):
    """A store cannot be read or used."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the stores of one listener hold."""

    own: KeyMaterial | None
    trusted: tuple[bytes, ...] | None
    """DER; None: what this machine's libraries trust."""


def load_material(settings: TlsSettings) -> Material:
    """Raises TlsError."""
    return Material(
        None if settings.keystore is None else _own(settings.keystore),
        None if settings.truststore is None else _trusted(settings.truststore),
    )


def _own(store: KeyStore) -> KeyMaterial:
    try:
        return key_material(store, _read(store.location))
    except (StoreError, OSError) as error:
        where = f"ssl.keystore.location={store.location}" if store.location else "ssl.keystore.key"
        raise TlsError(f"Failed to load SSL keystore ({where}) of type {store.type.value}: {_why(error)}") from error


def _trusted(store: TrustStore) -> tuple[bytes, ...]:
    try:
        return trusted_certificates(store, _read(store.location))
    except (StoreError, OSError) as error:
        where = f"ssl.truststore.location={store.location}" if store.location else "ssl.truststore.certificates"
        raise TlsError(f"Failed to load SSL truststore ({where}) of type {store.type.value}: {_why(error)}") from error


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _read(location: str | None) -> bytes:
    if location is None:
        return b""
    with open(location, "rb") as file:
        data = file.read(MAX_STORE_BYTES + 1)
    if len(data) > MAX_STORE_BYTES:
        raise StoreError(f"a store has at most {MAX_STORE_BYTES} bytes")
    return data


def server_context(settings: TlsSettings, material: Material) -> ssl.SSLContext:
    """Raises TlsError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = _VERIFY[settings.client_auth]
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    return _prepared(context, settings, material, trusts=settings.client_auth is not ClientAuth.NONE)


def client_context(settings: TlsSettings, material: Material) -> ssl.SSLContext:
    """Raises TlsError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host
    context.verify_mode = ssl.CERT_REQUIRED
    return _prepared(context, settings, material, trusts=True)


def _prepared(context: ssl.SSLContext, settings: TlsSettings, material: Material, *, trusts: bool) -> ssl.SSLContext:
    suites = choose(settings.ciphers)
    spoken = [one for one in settings.protocols if (suites.allows_1_2 if one == "TLSv1.2" else suites.allows_1_3)]
    context.minimum_version, context.maximum_version = _VERSIONS[spoken[0]], _VERSIONS[spoken[-1]]
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        if suites.openssl:
            context.set_ciphers(suites.openssl)
        if material.own is not None:
            _load_own(context, material.own)
        if trusts:
            _load_trusted(context, material.trusted)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise TlsError(f"TLS cannot be set up: {_reason(error)}") from error
    return context


def _load_own(context: ssl.SSLContext, own: KeyMaterial) -> None:
    """OpenSSL reads keys from files only: one that lives in memory."""
    descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write((own.key_pem + own.chain_pem).encode("ascii"))
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=own.password or "")
    except ssl.SSLError as error:
        if own.password is None or error.reason == "KEY_VALUES_MISMATCH":
            raise
        raise TlsError("the private key cannot be decrypted: is ssl.key.password the key's?") from error
    finally:
        os.close(descriptor)


def _load_trusted(context: ssl.SSLContext, trusted: tuple[bytes, ...] | None) -> None:
    if trusted is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cadata="".join(pem_of("CERTIFICATE", one) for one in trusted))


def _reason(error: Exception) -> str:
    """In words: OpenSSL's are enough, without its file and line."""
    if isinstance(error, ssl.SSLError):
        return str(error.reason).replace("_", " ").lower() if error.reason else "OpenSSL cannot read it"
    return _why(error)


def handshake_fault(error: BaseException) -> str:
    """Why a handshake failed, for a log line: what the peer sent is not repeated."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message or error.reason}"
    if isinstance(error, TimeoutError):
        return "no handshake in time"
    if isinstance(error, (OSError, ValueError)):
        return _reason(error) or type(error).__name__
    return type(error).__name__


class BadPeer(Exception):
    """The certificate of a peer gives no principal."""


def principal_of(settings: TlsSettings, certificate: bytes | None) -> str:
    """Who a verified certificate (DER) says the peer is. Raises BadPeer."""
    if certificate is None:
        return ANONYMOUS
    try:
        name = name_text(read_certificate(certificate).subject)
        return f"User:{settings.rules.principal_name(name)}"
    except (BadDer, ValueError) as error:
        raise BadPeer(str(error)) from error


def principal_on(settings: TlsSettings, context: ssl.SSLContext, transport: asyncio.BaseTransport) -> str:
    """Who is at the other end of a secured connection. Raises BadPeer."""
    found = transport.get_extra_info("ssl_object")
    certificate = found.getpeercert(binary_form=True) if context.verify_mode is not ssl.CERT_NONE else None
    return principal_of(settings, certificate)


def check_name(context: ssl.SSLContext, host: str) -> None:
    """Peers name endpoints: what no certificate can be for is found before a socket is opened. Raises OSError."""
    try:
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=host)
    except (ValueError, TypeError) as error:
        raise OSError(f"{host[:80]!r} is no name that a certificate can be for") from error


def prove(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """A handshake of both with each other, without a network. Raises TlsError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="self"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(_ROUNDS):
        for side in tuple(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                raise TlsError(
                    "Invalid value for configuration ssl.truststore.location: brokers would refuse each other, the "
                    f"trust store does not believe the key store: {handshake_fault(error)}"
                ) from error
