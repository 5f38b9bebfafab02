"""Events of the resource itself."""

from __future__ import annotations

import kopf

from kraft_operator.api import names
from kraft_operator.handlers.memo import Memo
from kraft_operator.keys import Key
from kraft_operator.kube import CLUSTER


@kopf.on.event(names.GROUP, names.VERSION, names.PLURAL)
async def cluster_changed(namespace: str, name: str, event: kopf.RawEvent, memo: Memo, **_: object) -> None:
    memo.index.note(CLUSTER, event["type"], event["object"])
    memo.queue.add(Key(namespace, name))
