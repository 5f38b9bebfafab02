"""Which cluster a tool talks to: `--bootstrap-server` or `--bootstrap-controller`, exactly one, and `--command-config`.

A flag on the command line replaces its setting in the file and clears the other one, as in Kafka's tools.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity, SecurityError
from controller_runtime.values import dataclass, field

if TYPE_CHECKING:
    from controller_runtime.admin.client import AdminClient


class BadCommand(Exception):
    """What was asked for on the command line cannot be done; said in Kafka's words, exit code 1."""


class NoSuchConfig(BadCommand):
    """The file of `--command-config` is not there."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"Properties file {path} does not exists!")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    servers: str | None
    controllers: str | None
    settings: Mapping[str, str] = field(default_factory=dict)
    security: ListenerSecurity = PLAINTEXT

    def admin(self) -> AdminClient:
        from controller_runtime.admin.client import AdminClient

        milliseconds = self.settings.get("default.api.timeout.ms", "60000")
        if not milliseconds.isdigit():
            raise BadCommand(
                f"Invalid value {milliseconds} for configuration default.api.timeout.ms: Not a number of type INT"
            )
        try:
            return AdminClient(
                bootstrap_servers=self.servers,
                bootstrap_controllers=self.controllers,
                client_id=self.settings.get("client.id", "adminclient-1"),
                timeout_seconds=int(milliseconds) / 1000,
                security=self.security,
            )
        except (ValueError, SecurityError) as error:
            raise BadCommand(str(error)) from error


def choose(servers: str | None, controllers: str | None, command_config: str | None) -> Bootstrap:
    """Raises BadCommand when not exactly one kind of bootstrap address is left."""
    settings = read_properties(command_config) if command_config is not None else {}
    if servers is not None and controllers is not None:
        raise BadCommand("You cannot specify both --bootstrap-server and --bootstrap-controller.")
    if servers is None and controllers is None:
        raise BadCommand("You must specify either --bootstrap-controller or --bootstrap-server.")
    return Bootstrap(servers, controllers, settings, _security(settings, command_config or ""))


def _security(settings: Mapping[str, str], source: str) -> ListenerSecurity:
    """Raises BadCommand."""
    if settings.get("security.protocol", "PLAINTEXT") == "PLAINTEXT":
        return PLAINTEXT
    from controller_runtime.configuration.client_security import BadClientSecurity, client_security

    try:
        return client_security(settings, source)
    except BadClientSecurity as error:
        raise BadCommand(str(error)) from error


def read_properties(path: str) -> dict[str, str]:
    """With what its config providers say. Raises BadCommand."""
    from controller_runtime.configuration.properties import parse_properties

    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            properties = parse_properties(file.read(), path)
        if "config.providers" in properties:
            from controller_runtime.configuration.providers import read_providers

            properties, _ = read_providers(properties, os.environ).resolve_all(properties)
        return {one.name: one.value.strip() for one in properties.values()}
    except FileNotFoundError as error:
        raise NoSuchConfig(path) from error
    except OSError as error:
        raise BadCommand(f"{path} ({error.strerror})") from error
    except ValueError as error:
        raise BadCommand(str(error)) from error
