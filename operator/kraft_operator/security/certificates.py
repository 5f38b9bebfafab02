"""Makes and reads certificates: EC keys on P-256, PKCS#8 in PEM, X.509 v3. Time and chance are given to the `Issuer`.

`cryptography` is imported on first use: an operator whose clusters are all plaintext does without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, TypeVar

from kraft_operator.credentials import Subject

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    Key = EllipticCurvePrivateKey | RSAPrivateKey

Extension = TypeVar("Extension", bound="x509.ExtensionType")

OTHER_KEY: Final = "the key is of another certificate"
MIN_RSA_BITS: Final = 2048
AUTHORITY_SECONDS: Final = 5 * 365 * 86400.0
SKEW: Final = timedelta(minutes=5)
"""A certificate begins so long before it is made: clocks of other machines may be behind."""


class BadCertificate(ValueError):
    """What should be a certificate or key is none. No text of it shows what was read."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A key and its certificate, in PEM."""

    key: str = field(repr=False)
    certificate: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What a certificate says."""

    subject: str
    hosts: frozenset[str]
    begins: float
    ends: float
    fingerprint: str


def new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def new_serial() -> int:
    from cryptography import x509

    return x509.random_serial_number()


@dataclass(frozen=True, slots=True)
class Issuer:
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    key: Callable[[], EllipticCurvePrivateKey] = new_key
    serial: Callable[[], int] = new_serial

    def authority(self, subject: Subject) -> Pair:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        key, name = self.key(), _name(subject)
        made = self._begun(name, name, key, AUTHORITY_SECONDS).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        made = made.add_extension(_usage(signs_certificates=True), critical=True)
        return Pair(_pem_of(key), _text(made.sign(key, hashes.SHA256())))

    def issue(self, authority: Pair, subject: Subject, hosts: Iterable[str], seconds: float) -> Pair:
        """Good for both directions of TLS. Raises BadCertificate for an authority that cannot sign."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

        issuer, signer = _loaded(authority.certificate)[0], _loaded_key(authority)
        key = self.key()
        made = (
            self._begun(_name(subject), issuer.subject, key, seconds)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([Usage.SERVER_AUTH, Usage.CLIENT_AUTH]), critical=False)
            .add_extension(_identifier_of(issuer), critical=False)
        )
        if names := [_general_name(host) for host in hosts]:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return Pair(_pem_of(key), _text(made.sign(signer, hashes.SHA256())))

    def _begun(
        self, subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, seconds: float
    ) -> x509.CertificateBuilder:
        from cryptography import x509

        now = self.now().replace(microsecond=0)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(self.serial())
            .not_valid_before(now - SKEW)
            .not_valid_after(now + timedelta(seconds=seconds))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


def read(pair: Pair, trusted: str) -> tuple[Facts, str, tuple[str, ...]]:
    """What a certificate says, the fingerprint of the one of the `trusted` that has signed it, or signed the last of
    its chain (empty: none), and theirs. Raises BadCertificate, also when the key is not the certificate's.
    """
    certificate, *chain = _loaded(pair.certificate)
    if _loaded_key(pair).public_key() != certificate.public_key():
        raise BadCertificate(OTHER_KEY)
    authorities, last = _loaded(trusted), certificate
    for each in chain:
        if not _signed(last, each) or any(_signed(last, one) for one in authorities):
            break
        last = each
    signers = (_facts(each).fingerprint for each in authorities if _signed(last, each))
    return _facts(certificate), next(signers, ""), tuple(_facts(each).fingerprint for each in authorities)


def as_nodes_read(pair: Pair) -> Pair:
    """The same with the key in PKCS#8, the only form that Java reads. Raises BadCertificate."""
    return Pair(_pem_of(_loaded_key(pair)), pair.certificate)


def each_of(certificates: str) -> dict[str, str]:
    """Every certificate of a text by its fingerprint, in PEM. Raises BadCertificate."""
    return {_facts(each).fingerprint: _text(each) for each in _loaded(certificates)}


def joined(certificates: Iterable[str]) -> str:
    return "".join(certificates)


def check_usable(pair: Pair) -> None:
    """For both directions of TLS, as a node needs it. Raises BadCertificate."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

    certificate = _loaded(pair.certificate)[0]
    try:
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    except ValueError as error:
        raise BadCertificate("its extensions cannot be read") from error
    for wanted, name in ((Usage.SERVER_AUTH, "serverAuth"), (Usage.CLIENT_AUTH, "clientAuth")):
        if wanted not in usage and Usage.ANY_EXTENDED_KEY_USAGE not in usage:
            raise BadCertificate(f"its extended key usage lacks {name}: nodes accept connections and make them")


def check_authority(pair: Pair) -> None:
    """One certificate that may sign others, and its key. Raises BadCertificate."""
    from cryptography import x509

    certificate, *others = _loaded(pair.certificate)
    if others:
        raise BadCertificate("it holds several certificates: leave the one that belongs to the key")
    if _loaded_key(pair).public_key() != certificate.public_key():
        raise BadCertificate(OTHER_KEY)
    try:
        basic = _extension(certificate, x509.BasicConstraints)
        usage = _extension(certificate, x509.KeyUsage)
    except ValueError as error:
        raise BadCertificate("its extensions cannot be read") from error
    if basic is None or not basic.ca or (usage is not None and not usage.key_cert_sign):
        raise BadCertificate("its certificate is no authority's: it may not sign others (basicConstraints, keyUsage)")


def facts(certificate: str) -> Facts:
    """Of the first certificate of a text. Raises BadCertificate."""
    return all_facts(certificate)[0]


def all_facts(certificates: str) -> tuple[Facts, ...]:
    """Of every certificate of a text, at least one. Raises BadCertificate."""
    return tuple(map(_facts, _loaded(certificates)))


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    """Raises ValueError."""
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _identifier_of(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """As the issuer names its key: others than ours may do it in another way. Raises BadCertificate."""
    from cryptography import x509

    try:
        own = _extension(issuer, x509.SubjectKeyIdentifier)
    except ValueError as error:
        raise BadCertificate("its extensions cannot be read") from error
    if own is None:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _facts(certificate: x509.Certificate) -> Facts:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    hosts: list[str] = []
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        hosts = [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
    except x509.ExtensionNotFound:
        pass
    except ValueError as error:
        raise BadCertificate("its extensions cannot be read") from error
    return Facts(
        subject=certificate.subject.rfc4514_string(),
        hosts=frozenset(hosts),
        begins=certificate.not_valid_before_utc.timestamp(),
        ends=certificate.not_valid_after_utc.timestamp(),
        fingerprint=certificate.fingerprint(hashes.SHA256()).hex(),
    )


def _loaded(text: str) -> list[x509.Certificate]:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(text.encode())
    except ValueError as error:
        raise BadCertificate("it holds no certificate in PEM") from error


def _loaded_key(pair: Pair) -> Key:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if "ENCRYPTED" in pair.key:
        raise BadCertificate("its key is encrypted, and nobody could tell nodes its password")

    try:
        key = load_pem_private_key(pair.key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadCertificate("it holds no private key in PEM") from error
    if isinstance(key, RSAPrivateKey) and key.key_size < MIN_RSA_BITS:
        raise BadCertificate(f"its key of {key.key_size} bits is too short: RSA needs {MIN_RSA_BITS}")
    if not isinstance(key, EllipticCurvePrivateKey | RSAPrivateKey):
        raise BadCertificate("its key is neither RSA nor on an elliptic curve")
    return key


def _pem_of(key: Key) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _text(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _name(subject: Subject) -> x509.Name:
    """From the most general part to the most specific one; each has at most 64 characters (RFC 5280)."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = (
        (NameOID.ORGANIZATION_NAME, subject.cluster),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, subject.namespace),
        (NameOID.COMMON_NAME, subject.common_name),
    )
    return x509.Name([x509.NameAttribute(kind, value) for kind, value in parts])


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs_certificates, crl_sign=signs_certificates, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip
