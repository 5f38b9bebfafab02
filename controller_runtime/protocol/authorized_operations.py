"""Authorized operations (KIP-430): a bit for each AclOperation that the asker may do with a resource of a kind.

Without an authorizer everybody may do everything that a resource of the kind knows.
"""

from __future__ import annotations

from typing import Final

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = (
    1 << code for code in range(3, 13)
)  # fmt: skip

ALL_OF_TOPIC: Final = _READ | _WRITE | _CREATE | _DELETE | _ALTER | _DESCRIBE | _DESCRIBE_CONFIGS | _ALTER_CONFIGS
ALL_OF_CLUSTER: Final = (
    _CREATE | _ALTER | _DESCRIBE | _CLUSTER_ACTION | _DESCRIBE_CONFIGS | _ALTER_CONFIGS | _IDEMPOTENT_WRITE
)
NOT_ASKED: Final = -(2**31)
