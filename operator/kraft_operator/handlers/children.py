"""Events of what clusters consist of: the label names the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import kopf

from kraft_operator.handlers.memo import Memo
from kraft_operator.index import OF_CLUSTERS
from kraft_operator.keys import CLUSTER_LABEL, owner_of

OURS: Final = {CLUSTER_LABEL: kopf.PRESENT}
BY_PLURAL: Final = {kind.plural: kind for kind in OF_CLUSTERS}


async def child_changed(
    namespace: str | None,
    labels: Mapping[str, str],
    resource: kopf.Resource,
    event: kopf.RawEvent,
    memo: Memo,
    **_: object,
) -> None:
    memo.index.note(BY_PLURAL[resource.plural], event["type"], event["object"])
    key = owner_of(namespace, labels)
    if key is not None:
        memo.queue.add(key)


for _kind in OF_CLUSTERS:
    kopf.on.event(*_kind.selector, labels=OURS)(child_changed)
