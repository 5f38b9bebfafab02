"""Events of one-shot operations: what is asked of a cluster is that cluster's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kopf

from kraft_operator.api import names
from kraft_operator.handlers.memo import Memo
from kraft_operator.keys import Key
from kraft_operator.kube import OPERATION


@kopf.on.event(names.GROUP, names.VERSION, names.OPERATIONS)
async def operation_changed(
    namespace: str, spec: Mapping[str, Any], event: kopf.RawEvent, memo: Memo, **_: object
) -> None:
    memo.index.note(OPERATION, event["type"], event["object"])
    memo.queue.add(Key(namespace, str(spec.get("clusterName", ""))))
