"""The page of a cluster's archive, asked now and then, and what it said last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.archives import ArchiveSeen, archive_seen
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
