"""Who was let do something once is let do it for ever: what the authorizer decided by former ACLs is not forgotten."""

from __future__ import annotations

import pytest

from controller_runtime.metadata.acls import AclsImage
from controller_runtime.metadata.authorizer import Client, host_of
from controller_runtime.parts.authority import Asking, Authority

SOURCE = "class of defect: a cache that outlives what it was made of"
SCHEDULES = "rights"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def asking(self: Authority, acls: AclsImage | None, principal: str, address: bytes, api_key: int) -> Asking:
        self._acls = acls
        return Asking(self, acls, Client(principal, host_of(address)), api_key)

    patch.setattr(Authority, "asking", asking)
