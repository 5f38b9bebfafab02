"""Events of users: whoever names a cluster is that cluster's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kopf

from kraft_operator.api import names
from kraft_operator.handlers.memo import Memo
from kraft_operator.keys import Key
from kraft_operator.kube import USER


@kopf.on.event(names.GROUP, names.VERSION, names.USERS)
async def user_changed(namespace: str, spec: Mapping[str, Any], event: kopf.RawEvent, memo: Memo, **_: object) -> None:
    memo.index.note(USER, event["type"], event["object"])
    memo.queue.add(Key(namespace, str(spec.get("clusterName", ""))))
