"""Events of the resource itself."""

from __future__ import annotations

import kopf

from kraft_operator.api import names
from kraft_operator.handlers.memo import Memo
from kraft_operator.keys import Key


@kopf.on.event(names.GROUP, names.VERSION, names.PLURAL)
def cluster_changed(namespace: str, name: str, memo: Memo, **_: object) -> None:
    memo.queue.add(Key(namespace, name))
