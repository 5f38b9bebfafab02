"""Who judges the tokens of a listener: the keys of an issuer, opened before anybody may connect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from controller_runtime.identifiers import WallClock
from controller_runtime.security.oauth.settings import ServerTokens, SignedTokens, UnsecuredTokens
from controller_runtime.security.oauth.unsecured import judge_unsecured

if TYPE_CHECKING:
    from controller_runtime.network.key_sets import IssuerKeys
    from controller_runtime.security.sasl.oauthbearer import Judge


class TokenJudges:
    """Of a process: listeners that are told the same share the keys."""

    def __init__(self, wall: Callable[[], WallClock]) -> None:
        self._wall = wall
        self._keys: list[tuple[SignedTokens, IssuerKeys]] = []

    async def of(self, tokens: ServerTokens) -> Judge:
        """Raises SecurityError."""
        if isinstance(tokens, UnsecuredTokens):
            return lambda token: judge_unsecured(token, tokens, self._wall())
        known = next((keys for settings, keys in self._keys if settings == tokens), None)
        if known is None:
            from controller_runtime.network.key_sets import IssuerKeys

            known = IssuerKeys(tokens, self._wall)
            await known.open()
            self._keys.append((tokens, known))
        return known.judge

    def close(self) -> None:
        for _, keys in self._keys:
            keys.close()
