"""`spec.archive.objectStore`: where a copy of the archive goes, and which Secrets open it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kraft_operator.api.reader import InvalidSpec, Reader

_URL: Final = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._-]+)*")
_ENDPOINT: Final = re.compile(r"(https?)://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")
_REGION: Final = re.compile(r"[a-z0-9-]{1,64}")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_PORTS: Final = {"http": 80, "https": 443}
MAX_TEXT: Final = 512
MAX_NAME: Final = 253


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Secrets by name alone: the operator never reads them."""

    url: str
    credentials: str
    """The Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""
    region: str | None = None
    endpoint: str | None = None
    """Of a store that is not Amazon's."""
    encryption: str | None = None
    """The Secret with the keys, each by its id; None: what is put is not encrypted by the archive."""
    ca_secret: str | None = None
    ca_config_map: str | None = None
    """With `ca.crt`, the endpoint's own authority, which is trusted beside the system's."""

    @property
    def is_plaintext(self) -> bool:
        return self.endpoint is not None and self.endpoint.startswith("http:")

    @property
    def port(self) -> int:
        found = _ENDPOINT.fullmatch(self.endpoint) if self.endpoint is not None else None
        return _PORTS["https"] if found is None else int(found[2] or _PORTS[found[1]])

    @property
    def where(self) -> str:
        """For a person."""
        return self.url if self.endpoint is None else f"{self.url} at {self.endpoint}"


def parse_object_store(archive: Reader) -> ObjectStore | None:
    """None: nobody asked for one. Raises InvalidSpec."""
    if not archive.has("objectStore"):
        return None
    asked = archive.child("objectStore")
    found = ObjectStore(
        _fits(asked, "url", _URL, "an address such as s3://bucket/prefix") or asked.text("url"),
        _name(asked, "credentialsSecret") or asked.text("credentialsSecret"),
        region=_fits(asked, "region", _REGION, "a region such as eu-central-1"),
        endpoint=_fits(asked, "endpoint", _ENDPOINT, "an address such as https://minio.storage.svc:9000"),
        encryption=_name(asked, "encryptionSecret"),
        ca_secret=_name(asked, "caSecret"),
        ca_config_map=_name(asked, "caConfigMap"),
    )
    if found.region is None and found.endpoint is None:
        raise InvalidSpec(asked.path, "needs a region, or the endpoint of a store that has none")
    if found.ca_secret is not None and found.ca_config_map is not None:
        raise InvalidSpec(asked.at("caConfigMap"), "takes no caSecret beside it")
    if found.is_plaintext and found.encryption is None:
        raise InvalidSpec(
            asked.at("endpoint"), "needs TLS, or an encryptionSecret: the log holds every secret of the cluster"
        )
    if not 1 <= found.port <= 65535:
        raise InvalidSpec(asked.at("endpoint"), f"{found.port} is no port")
    return found


def _name(asked: Reader, field: str) -> str | None:
    return _fits(asked, field, _NAME, "the name of an object", MAX_NAME)


def _fits(asked: Reader, field: str, form: re.Pattern[str], what: str, most: int = MAX_TEXT) -> str | None:
    text = asked.optional_text(field)
    if text is not None and not (form.fullmatch(text) and len(text) <= most):
        raise InvalidSpec(asked.at(field), f"must be {what}, not {text!r}")
    return text
