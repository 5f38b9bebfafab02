"""A certificate's subject as text, as Java writes it (`X500Principal.getName`, RFC 2253): ACLs and super users name it.

The most specific part comes first. OpenSSL and `cryptography` write the same name in other words, which would be
another principal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.security.der import Attribute

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXT_TAGS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString."""
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_BLANKS: Final = " \r"


def name_text(relative_names: Iterable[Iterable[Attribute]]) -> str:
    return ",".join("+".join(map(_attribute, relative)) for relative in reversed(tuple(relative_names)))


def _attribute(attribute: Attribute) -> str:
    keyword = _KEYWORDS.get(attribute.oid)
    if keyword is None or attribute.value.tag not in _TEXT_TAGS:
        return f"{keyword or attribute.oid}=#{attribute.value.whole.hex()}"
    return f"{keyword}={_escaped(attribute.value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    out = "".join("\\00" if one == "\0" else f"\\{one}" if one in _ESCAPED else one for one in text)
    first = len(out) - len(out.lstrip(_BLANKS))
    last = len(out.rstrip(_BLANKS))
    return "".join(f"\\{one}" if not first <= at < last else one for at, one in enumerate(out))
