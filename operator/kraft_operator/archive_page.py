"""The page of a cluster's archive, asked now and then, and what it said last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.archives import ArchiveSeen, archive_seen
from kraft_operator.kube import CLAIM, Gateway
from kraft_operator.pages import page

LOOK_SECONDS: Final = 60.0
ASK_SECONDS: Final = 15.0
SILENT_SECONDS: Final = 60.0
"""How long what it said counts while it is silent: its pod may be moving."""


@dataclass(slots=True)
class ArchiveMemory:
    """Of one cluster, in this process. `read` gives the text at an address, empty when none came."""

    read: Callable[[str], str] = field(default=page)
    _looked: float = float("-inf")
    _lacks: bool = False
    _asked: float = float("-inf")
    _answered: float = float("-inf")
    _seen: ArchiveSeen | None = None

    def seen(self, cluster: KRaftCluster, kube: Gateway, now: float) -> dict[str, Any]:
        """As fields of `Observed`. Raises KubeError."""
        return {"archive": self.look(cluster, now), "lake_missing": self.lacks_lake(cluster, kube, now)}

    def lacks_lake(self, cluster: KRaftCluster, kube: Gateway, now: float) -> bool:
        """Whether the claim of the audits' lake is not there, as of a minute ago at most. Raises KubeError."""
        archive = cluster.spec.archive
        if archive is None or archive.audit is None or archive.audit.lake_claim is None:
            return False
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            self._lacks = kube.find(CLAIM, cluster.namespace, archive.audit.lake_claim) is None
        return self._lacks

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
