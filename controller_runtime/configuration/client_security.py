"""What a client's properties say of its security, with Kafka's names and defaults: `security.protocol`, `ssl.*`, and
`sasl.*`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

from controller_runtime.configuration.names import BY_NAME, REFUSED_PREFIXES
from controller_runtime.configuration.properties import Property
from controller_runtime.configuration.security import read_security
from controller_runtime.configuration.settings import Settings, check
from controller_runtime.security.jaas import BadJaas, JaasEntry
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.sasl_settings import ClientLogin
from controller_runtime.values import replace

_MECHANISM: Final = "sasl.mechanism"
_JAAS: Final = "sasl.jaas.config"
_OF_CLIENTS: Final = (_MECHANISM, _JAAS, "sasl.oauthbearer.header.urlencode")


class BadClientSecurity(ValueError):
    """What is wrong, with the names that are; Kafka's words where it has any."""


def client_security(
    settings: Mapping[str, str], source: str, environment: Mapping[str, str] | None = None
) -> ListenerSecurity:
    """`source` is where the settings were written; `environment`: the process's own. Raises BadClientSecurity."""
    text = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    if text not in SecurityProtocol.__members__:
        raise BadClientSecurity(
            f"Invalid value {text} for configuration security.protocol: String must be one of: "
            "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"
        )
    protocol = SecurityProtocol[text]
    properties = {
        name: Property(name, value, source)
        for name, value in settings.items()
        if name.startswith(REFUSED_PREFIXES) and name not in _OF_CLIENTS
    }
    problems = list(check(properties))

    def wrong(name: str, why: str) -> None:
        problems.append(f"{source}: Invalid value for configuration {name}: {why}")

    found = read_security(Settings(properties), None, protocol, wrong, serves=False)
    if protocol.is_sasl:
        found = replace(found, login=_login(settings, wrong, os.environ if environment is None else environment))
    if problems:
        raise BadClientSecurity("\n".join(problems))
    return found


def _login(
    settings: Mapping[str, str], wrong: Callable[[str, str], None], environment: Mapping[str, str]
) -> ClientLogin | None:
    """As whom the client comes. No problem shows a value of its login module."""
    from controller_runtime.configuration.sasl import MECHANISMS, entry_of, login_of, unknown_mechanism

    mechanism, text = settings.get(_MECHANISM, "GSSAPI").strip(), settings.get(_JAAS)
    if mechanism not in MECHANISMS:
        wrong(_MECHANISM, unknown_mechanism(mechanism))
    elif text is None:
        wrong(_JAAS, f"set it: {mechanism} needs a login module")
    else:
        try:
            entry = entry_of(mechanism, text)
            if mechanism == "OAUTHBEARER":
                return _bearer(settings, entry, wrong, environment)
            return login_of(mechanism, entry)
        except BadJaas as error:
            wrong(_JAAS, str(error))
    return None


def _bearer(
    settings: Mapping[str, str], entry: JaasEntry, wrong: Callable[[str, str], None], environment: Mapping[str, str]
) -> ClientLogin:
    from controller_runtime.configuration.allowed_resources import allowed_resources
    from controller_runtime.configuration.oauth import OAuthReading

    def value(name: str) -> str | None:
        default = BY_NAME[name].default if name in BY_NAME else "null"
        return settings.get(name, None if default == "null" else default)

    reading = OAuthReading(value, entry.options, allowed_resources({}, environment), wrong)
    return ClientLogin("OAUTHBEARER", tokens=reading.of_client())
