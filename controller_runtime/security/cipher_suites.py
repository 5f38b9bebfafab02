"""Cipher suites: the IANA names of Kafka's `ssl.cipher.suites`, and what OpenSSL calls them.

Suites of TLS 1.3 cannot be chosen one by one before Python 3.14: naming any of them allows version 1.3 with all of its
suites, which are three good ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.values import dataclass

TLS_1_3: Final = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    }
)
_EXCHANGES: Final = {
    "ECDHE_ECDSA": "ECDHE-ECDSA-",
    "ECDHE_RSA": "ECDHE-RSA-",
    "DHE_RSA": "DHE-RSA-",
    "RSA": "",
}
_CIPHERS: Final = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_256_CBC_SHA384": "AES256-SHA384",
    "AES_256_CBC_SHA256": "AES256-SHA256",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
}
TLS_1_2: Final = {
    f"TLS_{exchange}_WITH_{cipher}": prefix + name
    for exchange, prefix in _EXCHANGES.items()
    for cipher, name in _CIPHERS.items()
    if not (exchange == "RSA" and cipher.startswith("CHACHA20"))
    and not (cipher == "AES_256_CBC_SHA384" and not exchange.startswith("ECDHE"))
    and not (cipher == "AES_256_CBC_SHA256" and exchange.startswith("ECDHE"))
}


class UnknownSuite(ValueError):
    """Nobody knows this name."""


@dataclass(frozen=True, slots=True)
class Suites:
    openssl: str
    """For version 1.2, in OpenSSL's words; empty: the library's own choice."""
    allows_1_2: bool = True
    allows_1_3: bool = True


def choose(names: Iterable[str]) -> Suites:
    """Raises UnknownSuite."""
    names = tuple(names)
    if not names:
        return Suites("")
    for name in names:
        if name not in TLS_1_2 and name not in TLS_1_3:
            raise UnknownSuite(f"{name} is not a cipher suite of TLS 1.2 or 1.3")
    older = [TLS_1_2[name] for name in names if name in TLS_1_2]
    return Suites(":".join(older), bool(older), any(name in TLS_1_3 for name in names))
