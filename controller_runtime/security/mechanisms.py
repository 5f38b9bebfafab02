"""The mechanisms that a listener's settings enable, each as what begins an exchange."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controller_runtime.security.sasl.plain import NAME as PLAIN
from controller_runtime.security.sasl.plain import PlainServer
from controller_runtime.security.sasl.scram import ScramServer, ScramUsers
from controller_runtime.security.sasl.server import ServerMechanism
from controller_runtime.security.sasl_settings import SaslSettings


def server_mechanisms(
    settings: SaslSettings, users: ScramUsers, nonce: Callable[[], str]
) -> dict[str, Callable[[], ServerMechanism]]:
    def begin(mechanism: str) -> ServerMechanism:
        if mechanism == PLAIN:
            return PlainServer(settings.plain_users)
        return ScramServer(mechanism, users, nonce)

    return {mechanism: partial(begin, mechanism) for mechanism in settings.mechanisms}
