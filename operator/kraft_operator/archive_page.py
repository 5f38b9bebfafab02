"""The page of a cluster's archive, asked now and then, and what it said last; its claim while a quorum is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.archives import ArchiveSeen, archive_seen
from kraft_operator.kube import CLAIM, Object, Reader
from kraft_operator.operations.operation import Operation, OperationType
from kraft_operator.pages import page

ASK_SECONDS: Final = 15.0
SILENT_SECONDS: Final = 60.0
"""How long what it said counts while it is silent: its pod may be moving."""


@dataclass(slots=True)
class ArchiveMemory:
    """Of one cluster, in this process. `read` gives the text at an address, empty when none came."""

    read: Callable[[str], str] = field(default=page)
    _asked: float = float("-inf")
    _answered: float = float("-inf")
    _seen: ArchiveSeen | None = None

    def look(self, cluster: KRaftCluster, now: float) -> ArchiveSeen | None:
        """Blocks for `pages.SECONDS` when nothing answers, four times a minute at most."""
        if cluster.spec.archive is None:
            return None
        if now - self._asked >= ASK_SECONDS:
            self._asked = now
            host = names.archive_host(cluster.name, cluster.namespace, cluster.spec.cluster_domain)
            found = archive_seen(self.read(f"http://{host}:{names.HTTP_PORT}/status"))
            if found is not None:
                self._answered, self._seen = now, found
        return self._seen if now - self._answered < SILENT_SECONDS else None


def archive_claim(cluster: KRaftCluster, reader: Reader, operations: Iterable[Operation]) -> Object | None:
    """Looked for while a lost quorum is recovered, whether the resource still asks for an archive or not."""
    waits = any(each.type is OperationType.RECOVER_QUORUM and not each.finished for each in operations)
    return reader.find(CLAIM, cluster.namespace, names.archive_claim(cluster.name)) if waits else None
