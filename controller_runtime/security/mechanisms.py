"""The mechanisms that a listener's settings enable, each as what begins an exchange."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controller_runtime.security.sasl.oauthbearer import NAME as OAUTHBEARER
from controller_runtime.security.sasl.oauthbearer import Judge, OAuthBearerServer
from controller_runtime.security.sasl.plain import NAME as PLAIN
from controller_runtime.security.sasl.plain import PlainServer
from controller_runtime.security.sasl.scram import ScramServer, ScramUsers
from controller_runtime.security.sasl.server import ServerMechanism
from controller_runtime.security.sasl_settings import SaslSettings


def server_mechanisms(
    settings: SaslSettings, users: ScramUsers, nonce: Callable[[], str], judge: Judge | None = None
) -> dict[str, Callable[[], ServerMechanism]]:
    """`judge`: of tokens, where OAUTHBEARER is enabled."""

    def begin(mechanism: str) -> ServerMechanism:
        if mechanism == OAUTHBEARER:
            assert judge is not None, "a listener that enables it says how tokens are judged"
            return OAuthBearerServer(judge)
        if mechanism == PLAIN:
            return PlainServer(settings.plain_users)
        return ScramServer(mechanism, users, nonce)

    return {mechanism: partial(begin, mechanism) for mechanism in settings.mechanisms}
