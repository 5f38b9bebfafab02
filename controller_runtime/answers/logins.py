"""Who may log in by SCRAM: users and delegation tokens of the metadata log, looked up when they come.

Somebody who does not exist gets a salt all the same, made from his name with a secret that all nodes have and no client
knows, and as many iterations as most users have: nobody learns from a login who exists. The secret is that of the
cluster's tokens, and keys of two users: each of them knows his own. A token whose time is over is nobody's: Kafka lets
it in until it is swept.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections import Counter
from collections.abc import Callable
from heapq import nsmallest
from typing import Final

from controller_runtime.identifiers import WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.scram import BY_NAME
from controller_runtime.metadata.security import DelegationToken
from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.scram import Login
from controller_runtime.security.sasl.server import NotYet
from controller_runtime.security.scram_keys import ALGORITHMS, MIN_ITERATIONS, ScramKeys, keys_of
from controller_runtime.values import dataclass

TOKEN_ITERATIONS: Final = 4096
_MAX_TOKENS: Final = 1000
"""Whose keys are remembered: they are thousands of hashes to make."""
_SALT_BYTES: Final = 25
"""Of the salts that Kafka's tools make, mostly."""


class Logins:
    """Implements `ScramUsers`."""

    def __init__(
        self,
        image: Callable[[], MetadataImage | None],
        wall: Callable[[], WallClock],
        token_secret: bytes | None,
        chance: bytes,
    ) -> None:
        """`image` gives none while it is too old to say who does not exist; `chance`: of this process alone."""
        self._image = image
        self._wall = wall
        self._token_secret = token_secret
        self._chance = chance
        self._tokens: dict[tuple[str, str], ScramKeys] = {}
        self._shape = _Shape({}, {})

    def user(self, mechanism: str, name: str) -> Login | None:
        found = self._known().scram.get((BY_NAME[mechanism].number, name))
        if found is None:
            return None
        keys = ScramKeys(found.salt, found.stored_key, found.server_key, found.iterations)
        return Login(keys, Identity(f"User:{name}"))

    def token(self, mechanism: str, token_id: str) -> Login | None:
        found = self._known().delegation_tokens.get(token_id)
        if found is None or self._token_secret is None or found.expiration_timestamp <= self._wall():
            return None
        identity = Identity(found.owner, token_authenticated=True, expires_at_ms=found.expiration_timestamp)
        return Login(self._keys_of_token(mechanism, found, self._token_secret), identity)

    def decoy(self, mechanism: str, name: str) -> ScramKeys:
        shape = self._shape_of(self._known())
        iterations, salt_bytes = shape.common.get(BY_NAME[mechanism].number, (MIN_ITERATIONS, _SALT_BYTES))
        said = f"{mechanism} {name}".encode()
        secret = (self._token_secret or b"") + shape.secret
        made = hmac.digest(secret or self._chance, said, hashlib.sha512)
        algorithm = ALGORITHMS[mechanism]
        return ScramKeys(
            (made * 4)[:salt_bytes],
            hmac.digest(self._chance, b"stored" + said, algorithm),
            hmac.digest(self._chance, b"server" + said, algorithm),
            iterations,
        )

    def _known(self) -> MetadataImage:
        image = self._image()
        if image is None:
            raise NotYet
        return image

    def _keys_of_token(self, mechanism: str, token: DelegationToken, secret: bytes) -> ScramKeys:
        """The password is the token's HMAC, in base64; each node makes its own salt, always the same one."""
        asked = (mechanism, token.token_id)
        if (known := self._tokens.get(asked)) is not None:
            return known
        password = base64.b64encode(hmac.digest(secret, token.token_id.encode(), hashlib.sha512))
        salt = hmac.digest(secret, f"salt {mechanism} {token.token_id}".encode(), hashlib.sha512)[:_SALT_BYTES]
        keys = keys_of(ALGORITHMS[mechanism], password, salt, TOKEN_ITERATIONS)
        if len(self._tokens) >= _MAX_TOKENS:
            self._tokens.clear()
        self._tokens[asked] = keys
        return keys

    def _shape_of(self, image: MetadataImage) -> _Shape:
        if self._shape.of is not image.scram:
            shapes: dict[int, Counter[tuple[int, int]]] = {}
            for (mechanism, _), one in image.scram.items():
                shapes.setdefault(mechanism, Counter())[one.iterations, len(one.salt)] += 1
            common = {each: shape.most_common(1)[0][0] for each, shape in shapes.items()}
            names = nsmallest(2, {name for _, name in image.scram})
            keys = [image.scram[key].server_key for key in sorted(image.scram) if key[1] in names]
            self._shape = _Shape(image.scram, common, b"".join(keys))
        return self._shape


@dataclass(frozen=True, slots=True)
class _Shape:
    """What credentials look like, and a secret that all nodes have."""

    of: object
    common: dict[int, tuple[int, int]]
    """Iterations and bytes of salt that most of a mechanism have."""
    secret: bytes = b""
