"""Which quorums are read: their names, controllers, cluster ids and credentials.

A fleet file is YAML, or JSON:

    quorums:
      - name: payments
        bootstrap: payments-0:9093,payments-1:9093
        cluster-id: 5L6g3nShT-eMCtK--X86sw      # asked for with DescribeCluster when it is not given
        properties: payments.properties         # Kafka's client properties: security.protocol, ssl.*, sasl.*
        labels: {tier: production}              # for questions about some of the fleet
      - name: search
        bootstrap: search-0:9093
        secret: kafka/reader-credentials        # or: the Secret of Kubernetes that holds them (`secret_keys`),
        secret-key: client.properties           # under this key

Paths are relative to the file. Credentials are in the files and Secrets that it names, never in it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from controller_runtime.configuration.client_security import BadClientSecurity, client_security
from controller_runtime.configuration.properties import parse_properties
from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity
from controller_runtime.security.protocols import SecurityProtocol
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.wire.secret_keys import KEY, SecretKey, read_secret

_KEYS: Final = frozenset(("name", "bootstrap", "cluster-id", "properties", "secret", "secret-key", "labels"))


@dataclass(frozen=True, slots=True)
class Quorum:
    """A living quorum. `properties` is the path of a file of Kafka's client properties, `secret` the place of them in
    Kubernetes; they are read when the quorum is asked.
    """

    name: str
    bootstrap: str
    cluster_id: str | None = None
    properties: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    secret: SecretKey | None = None

    def __str__(self) -> str:
        return self.name if self.name == self.bootstrap else f"{self.name} ({self.bootstrap})"


def read_fleet(path: str) -> tuple[Quorum, ...]:
    """Raises PipelineError that names the entry and what is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path} cannot be read: {error}", "name a fleet file with --fleet") from error
    stored = _parsed(text, path)
    entries = stored.get("quorums") if isinstance(stored, dict) else None
    if not isinstance(entries, list) or not entries:
        raise PipelineError(f"{path} names no quorums", "write `quorums:` and a list of name and bootstrap")
    found = tuple(_quorum(entry, f"{path}: quorum {at}", Path(path).parent) for at, entry in enumerate(entries, 1))
    names = [it.name for it in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PipelineError(f"{path}: several quorums are called {', '.join(twice)}", "give each a name of its own")
    return found


def _parsed(text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        import yaml
    except ImportError as missing:
        raise PipelineError(f"{path} is no JSON, and YAML needs PyYAML", "pip install pyyaml") from missing
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where is not None else ""
        raise PipelineError(f"{path} is not YAML{line}", "see docs/pipeline.md for a fleet file") from error


def _quorum(entry: Any, where: str, beside: Path) -> Quorum:
    labels = entry.get("labels", {}) if isinstance(entry, dict) else {}
    if not isinstance(labels, dict):
        raise PipelineError(f"{where}: labels are no names and texts", "for example labels: {tier: production}")
    plain = {**entry, "labels": ""} if isinstance(entry, dict) else {"": None}
    if not all(isinstance(text, str) for text in (*plain.values(), *labels, *labels.values())):
        raise PipelineError(f"{where} is not a set of names and texts", f"give {', '.join(sorted(_KEYS))}")
    if unknown := sorted(set(entry) - _KEYS):
        raise PipelineError(f"{where}: unknown {', '.join(unknown)}", f"choose among {', '.join(sorted(_KEYS))}")
    if not entry.get("name") or not entry.get("bootstrap"):
        raise PipelineError(f"{where} has no name or no bootstrap", "give both: bootstrap is HOST:PORT,HOST:PORT")
    properties = entry.get("properties")
    secret = _secret(entry, where)
    if properties is not None and secret is not None:
        raise PipelineError(f"{where} names properties and a secret", "keep the one that has its credentials")
    return Quorum(
        entry["name"], entry["bootstrap"], entry.get("cluster-id"),
        None if properties is None else str(beside / properties), labels=tuple(sorted(labels.items())), secret=secret,
    )  # fmt: skip


def _secret(entry: dict[str, str], where: str) -> SecretKey | None:
    named = entry.get("secret")
    if named is None:
        if "secret-key" in entry:
            raise PipelineError(f"{where}: a secret-key without a secret", "name the Secret: secret: NAMESPACE/NAME")
        return None
    namespace, slash, name = named.rpartition("/")
    if not name or (slash and not namespace) or "/" in namespace:
        raise PipelineError(f"{where}: {named!r} names no Secret", "write secret: NAMESPACE/NAME, or NAME")
    return SecretKey(name, namespace or None, entry.get("secret-key") or KEY)


def security_of(quorum: Quorum) -> ListenerSecurity:
    """What secures its connections. Raises PipelineError; no message shows a value of the file or Secret."""
    if quorum.secret is not None:
        return _security(quorum, read_secret(quorum.secret), f"{quorum.secret}", trusted=False)
    if quorum.properties is None:
        return PLAINTEXT
    try:
        text = Path(quorum.properties).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise PipelineError(f"{quorum}: {quorum.properties}: {error.strerror}", _REMEDY) from error
    return _security(quorum, text, quorum.properties, trusted=True)


_REMEDY: Final = "mend the client properties that the quorum names"


def _security(quorum: Quorum, text: str, source: str, *, trusted: bool) -> ListenerSecurity:
    """`trusted`: whoever wrote the properties may have files of this machine read."""
    try:
        properties = parse_properties(text, source)
        if "config.providers" in properties:
            if not trusted:
                raise BadClientSecurity(f"{source}: config.providers are for files, not for a Secret")
            from controller_runtime.configuration.providers import read_providers

            properties, _ = read_providers(properties, os.environ).resolve_all(properties)
        settings = {one.name: one.value.strip() for one in properties.values()}
        if not trusted and settings.get("security.protocol", "").upper() not in SecurityProtocol.__members__:
            raise BadClientSecurity(f"{source}: it has no security.protocol of Kafka's; is it the right key?")
        if settings.get("security.protocol", "PLAINTEXT") == "PLAINTEXT":
            return PLAINTEXT
        return client_security(settings, source)
    except OSError as error:
        why = f"{source}: {error.strerror}"
    except (BadClientSecurity, ValueError) as error:
        why = str(error)
    raise PipelineError(f"{quorum}: {why}", _REMEDY)
