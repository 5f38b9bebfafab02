"""Events of TLSRoutes, where the Gateway API is installed and the operator may watch them."""

from __future__ import annotations

from collections.abc import Mapping

import kopf

from kraft_operator.handlers.children import OURS
from kraft_operator.handlers.memo import Memo
from kraft_operator.keys import owner_of
from kraft_operator.kube import Kind


async def route_changed(namespace: str | None, labels: Mapping[str, str], memo: Memo, **_: object) -> None:
    key = owner_of(namespace, labels)
    if key is not None:
        memo.index.note_route(key)
        memo.queue.add(key)


def watch(kind: Kind, memo: Memo) -> None:
    """To be called before kopf starts: it ends with what it may not watch."""
    kopf.on.event(*kind.selector, labels=OURS)(route_changed)
    memo.index.watches_routes = True
