"""What a store holds, whatever its format."""

from __future__ import annotations

import base64

from controller_runtime.values import dataclass, field


class StoreError(ValueError):
    """A store cannot be used. Says why, never what is secret in it."""


@dataclass(frozen=True, slots=True)
class KeyMaterial:
    key_pem: str = field(repr=False)
    """PKCS#8."""
    chain: tuple[bytes, ...]
    """DER; the node's own certificate first."""
    password: str | None = field(default=None, repr=False)
    """Of `key_pem`, if it is encrypted."""

    @property
    def chain_pem(self) -> str:
        return "".join(pem_of("CERTIFICATE", one) for one in self.chain)


def pem_of(label: str, der: bytes) -> str:
    text = base64.b64encode(der).decode("ascii")
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
