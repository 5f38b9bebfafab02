"""Config providers (KIP-297, KIP-993): values that a properties file names and does not hold.

`${provider:path:key}` stands for what one of `config.providers` says: `file` is a properties file, `dir` a directory
with a file a key, `env` the environment. A value may name several; what comes out is not looked at again. What a
provider does not have, or may not read, stays as it is written, as in Kafka; but a secret that would stay so is
refused, because everybody could guess it. Nothing that a client sends is resolved, but for the stores of a node's
listeners.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from controller_runtime.configuration import provider_files
from controller_runtime.configuration.properties import Property
from controller_runtime.configuration.settings import is_secret
from controller_runtime.values import dataclass, field, replace

PROVIDERS: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_ALLOWED_PATHS: Final = "allowed.paths"
_ALLOWED_NAMES: Final = "allowlist.pattern"
_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")

Lookup = Callable[[str, str], str | None]
"""Path and key to the value; nothing when there is none, or it may not be read. Raises BadProvider."""

BadProvider = provider_files.BadProvider


class BadProviders(ValueError):
    """What is wrong, a line each, with the place that says it."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True)
class Providers:
    lookups: Mapping[str, Lookup] = field(default_factory=dict)

    def resolve(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The value, and the references to our providers that stay in it. Raises BadProvider."""
        left: list[str] = []

        def value_of(found: re.Match[str]) -> str:
            name, path, key = found.groups()
            if (lookup := self.lookups.get(name)) is None:
                return found.group()
            if (value := lookup(path or "", key)) is None:
                left.append(found.group())
                return found.group()
            return value

        return _REFERENCE.sub(value_of, text), tuple(left)

    def resolve_all(self, properties: Mapping[str, Property]) -> tuple[dict[str, Property], tuple[str, ...]]:
        """Every value but those of the providers themselves, and what a start says of references that stay. Raises
        BadProviders.
        """
        resolved, notices, problems = dict(properties), [], []
        for one in properties.values():
            if not self.lookups or one.name.startswith(PROVIDERS) or "${" not in one.value:
                continue
            try:
                value, left = self.resolve(one.value)
            except BadProvider as error:
                problems.append(f"{one.origin}: {one.name}: {error}")
                continue
            resolved[one.name] = replace(one, value=value)
            for reference in left:
                why = f"{one.origin}: {one.name}: {reference} is not there, or is not allowed to be read"
                if is_secret(one.name):
                    problems.append(f"{why}: provide it, or the secret would be what everybody can read here")
                else:
                    notices.append(f"{why}; the value stays as it is written")
        if problems:
            raise BadProviders(problems)
        return resolved, tuple(notices)


NONE: Final = Providers()


def read_providers(properties: Mapping[str, Property], environment: Mapping[str, str]) -> Providers:
    """Raises BadProviders."""
    lookups: dict[str, Lookup] = {}
    problems: list[str] = []
    written = properties.get(PROVIDERS)
    for name in [] if written is None else filter(None, written.value.split(",")):
        try:
            lookups[name] = _lookup(name, properties, environment)
        except BadProvider as error:
            problems.append(f"{properties[PROVIDERS].origin}: {error}")
    if problems:
        raise BadProviders(problems)
    return Providers(lookups)


def _lookup(name: str, properties: Mapping[str, Property], environment: Mapping[str, str]) -> Lookup:
    of_class, prefix = f"{PROVIDERS}.{name}.class", f"{PROVIDERS}.{name}.param."
    written = properties.get(of_class)
    if written is None:
        raise BadProvider(f"set {of_class}: provider {name} has no class")
    given = {one.name.removeprefix(prefix): one.value for one in properties.values() if one.name.startswith(prefix)}
    known = dict(_kinds(given, environment))
    if (kind := known.get(written.value.strip().removeprefix(_PACKAGE))) is None:
        raise BadProvider(f"{of_class} must be one of {', '.join(_PACKAGE + one for one in known)}")
    try:
        return kind()
    except BadProvider as error:
        raise BadProvider(f"{prefix}{error}") from error


def _kinds(given: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[tuple[str, Callable[[], Lookup]]]:
    yield "FileConfigProvider", lambda: _of_file(_allowed(given))
    yield "DirectoryConfigProvider", lambda: _of_directory(_allowed(given))
    yield "EnvVarConfigProvider", lambda: _of_environment(given.get(_ALLOWED_NAMES, ".*"), environment)


def _allowed(given: Mapping[str, str]) -> provider_files.Allowed | None:
    try:
        return provider_files.allowed_paths(given.get(_ALLOWED_PATHS, ""))
    except BadProvider as error:
        raise BadProvider(f"{_ALLOWED_PATHS}: {error}") from error


def _of_file(allowed: provider_files.Allowed | None) -> Lookup:
    return lambda path, key: provider_files.property_of(path, key, allowed) if path else None


def _of_directory(allowed: provider_files.Allowed | None) -> Lookup:
    return lambda path, key: provider_files.file_of(path, key, allowed) if path else None


def _of_environment(pattern: str, environment: Mapping[str, str]) -> Lookup:
    try:
        allowed = re.compile(pattern)
    except re.error as error:
        raise BadProvider(f"{_ALLOWED_NAMES}: {pattern!r} is no regular expression: {error}") from error

    def lookup(path: str, key: str) -> str | None:
        if path:
            raise BadProvider(f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'")
        return environment.get(key) if allowed.fullmatch(key) else None

    return lookup
