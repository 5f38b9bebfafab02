"""What Java makes of names in certificates: questions of chance, and its answers (CertificateNames.java)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from support.apache_kafka.java_kafka import JVM_FLAGS, require_java

SOURCE: Final = Path(__file__).with_name("CertificateNames.java")
_TYPES: Final = (
    "2.5.4.3",
    "2.5.4.6",
    "2.5.4.7",
    "2.5.4.8",
    "2.5.4.9",
    "2.5.4.10",
    "2.5.4.11",
    "0.9.2342.19200300.100.1.1",
    "0.9.2342.19200300.100.1.25",
    "2.5.4.5",
    "1.2.840.113549.1.9.1",
    "2.5.4.12",
    "1.3.6.1.4.1.99999.1",
)
_TAGS: Final = (0x0C, 0x0C, 0x0C, 0x13, 0x16)
_LETTERS: Final = "abcXYZ019 ,+<>#;\"\\=/'()-_.@é漢\u00df\0\r\t"
_RULES: Final = (
    "DEFAULT",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L",
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
    "RULE:.*/x/",
    "RULE:CN=(.*)/$1$2$12$0/",
    r"RULE:CN=(.*)/\$1-\\-$1/L",
    "RULE:^cn=(.?[a-z]+)/$1/",
    r"RULE:CN=([^\/]*)\/(.*)/$2\/$1/",
    "RULE:(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(.*)/$11-$12-$111-$1/",
    "",
    "RULE:(?<who>.*)/${who}!/",
    "RULE:[a-z]+/$0x/U",
    "RULE:^$/nobody/",
)
_NAMES: Final = (
    "CN=Duke,OU=ServiceUsers,O=Org,C=US",
    "CN=duke",
    "cn=lower",
    "CN=a/b",
    "",
    "abcdefghijklm",
    "CN=",
    "CN=Ann\\,OU\\=admin,O=x",
    "zzz",
)


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag, size] if size < 128 else [tag, 0x82, size >> 8, size & 255]) + content


def oid(text: str) -> bytes:
    first, second, *rest = map(int, text.split("."))
    out = b""
    for number in (first * 40 + second, *rest):
        septets = [number & 0x7F]
        while number := number >> 7:
            septets.append(number & 0x7F | 0x80)
        out += bytes(reversed(septets))
    return der(0x06, out)


def random_name(rng: Random) -> bytes:
    """DER of a subject."""
    relative = []
    for _ in range(rng.randint(0, 4)):
        pairs = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            text = "".join(rng.choice(_LETTERS) for _ in range(rng.randint(0, 12)))
            tag = rng.choice(_TAGS)
            value = text.encode() if tag == 0x0C else "".join(c for c in text if c.isalnum() and c.isascii()).encode()
            pairs.append(der(0x30, oid(rng.choice(_TYPES)) + der(tag, value)))
        relative.append(der(0x31, b"".join(pairs)))
    return der(0x30, b"".join(relative))


def random_mapping(rng: Random) -> tuple[str, str]:
    rules = rng.choice((",", ", ", " ,")).join(rng.choice(_RULES) for _ in range(rng.randint(1, 3)))
    return rules, rng.choice(_NAMES)


def ask_java(questions: Sequence[str]) -> list[str]:
    """An answer a line: `= text`, or `! exception`."""
    done = subprocess.run(
        ["java", *JVM_FLAGS, "-cp", require_java(), str(SOURCE)],
        input="\n".join(questions) + "\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    return done.stdout.split("\n")[:-1]
