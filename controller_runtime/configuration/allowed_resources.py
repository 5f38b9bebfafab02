"""Which URLs and files OAUTHBEARER may read: Apache Kafka's allow-lists, empty unless somebody has filled them.

Kafka has them in system properties, so that who writes a client's configuration cannot have any address asked
(CVE-2025-27817). Here a node's own file has them as `quorate.oauthbearer.allowed.urls` and `.files`; nodes and tools
take them from the environment too, and from `KAFKA_OPTS` as Kafka's scripts do.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from controller_runtime.configuration.properties import Property
from controller_runtime.values import dataclass

URLS: Final = "quorate.oauthbearer.allowed.urls"
FILES: Final = "quorate.oauthbearer.allowed.files"
VARIABLES: Final = {URLS: "QUORATE_OAUTHBEARER_ALLOWED_URLS", FILES: "QUORATE_OAUTHBEARER_ALLOWED_FILES"}
SYSTEM_PROPERTIES: Final = {
    URLS: "org.apache.kafka.sasl.oauthbearer.allowed.urls",
    FILES: "org.apache.kafka.sasl.oauthbearer.allowed.files",
}
SCHEMES: Final = ("http", "https", "file")


@dataclass(frozen=True, slots=True)
class AllowedResources:
    urls: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def url_fault(self, url: str) -> str | None:
        """Why it is not asked."""
        try:
            where = urlsplit(url)
            usable = where.scheme.lower() in SCHEMES and (where.port, where.username) == (where.port, None)
        except ValueError:
            usable = False
        if not usable:
            return "a URL is needed that begins with http, https or file, and has no password in it"
        return None if url in self.urls else _refusal("URL", URLS)

    def file_fault(self, path: str) -> str | None:
        return None if path in self.files else _refusal("file", FILES)


def _refusal(what: str, name: str) -> str:
    return (
        f"The {what} cannot be accessed due to restrictions. Add it to {name} of a node, or to {VARIABLES[name]} "
        f"in the environment (Apache Kafka: the system property {SYSTEM_PROPERTIES[name]})"
    )


def allowed_resources(properties: Mapping[str, Property], environment: Mapping[str, str]) -> AllowedResources:
    """`properties`: of a node's own file; nothing for a client, whose file may be anybody's."""
    return AllowedResources(_allowed(URLS, properties, environment), _allowed(FILES, properties, environment))


def _allowed(name: str, properties: Mapping[str, Property], environment: Mapping[str, str]) -> frozenset[str]:
    written = properties.get(name)
    texts = ["" if written is None else written.value, environment.get(VARIABLES[name], "")]
    try:
        words = shlex.split(environment.get("KAFKA_OPTS", ""))
    except ValueError:
        words = []
    prefix = f"-D{SYSTEM_PROPERTIES[name]}="
    texts += [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    return frozenset(one.strip() for text in texts for one in text.split(",") if one.strip())
