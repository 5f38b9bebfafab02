"""The objects of an archive in a store: put once, sealed if there are keys, and named by a manifest that is replaced on
the condition that nobody else has replaced it. A shell; raises StoreProblem.

What a store acknowledges is asked for again before it is named: one that lost it is told at once. What it lists is
believed of objects that nobody names, and of nothing else.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from metadata_pipeline.archive import manifest as manifests
from metadata_pipeline.archive.manifest import BadManifest, Manifest, Stored
from metadata_pipeline.archive.problems import StoreProblem, StoreStanding
from metadata_pipeline.archive.sealing import BadSeal, Keys, seal, unseal
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.store.bucket import Bucket, Changed, Exists, StoreError

PART_BYTES: Final = 8 << 20
"""Of a snapshot: what is held in memory at once."""


class Objects:
    """Of one archive, below one address. `take_over` before anything is put."""

    def __init__(self, url: str, keys: Keys | None, credentials: Path | None = None) -> None:
        with _told():
            self._bucket = Bucket(url, credentials)
        self.url = self._bucket.url
        self.keys = keys
        self._nonce = uuid.uuid4().hex
        self._tag = ""
        self._put = list[str]()
        """What no manifest names yet."""

    def manifest(self) -> Manifest | None:
        """As it is in the store; None: nothing is archived there."""
        found = self._tagged()
        return None if found is None else found[0]

    def take_over(self, cluster_id: str, check: Callable[[Manifest], None]) -> Manifest:
        """From now on whoever wrote it before is refused; not if `check` of what is there raises StoreProblem."""
        found = self._tagged()
        if found is None:
            self.nothing_is_unnamed()
            made = Manifest(cluster_id, 1, self._nonce)
            with _told():
                try:
                    self._bucket.put_new(manifests.NAME, manifests.encode(made))
                except Exists as taken:
                    raise StoreProblem(StoreStanding.IN_USE, "another process began it meanwhile") from taken
            return self._read_back(made)
        known, self._tag = found
        if known.cluster_id != cluster_id:
            why = f"{self.url} has an archive of cluster {known.cluster_id}, not of {cluster_id}"
            raise StoreProblem(StoreStanding.ANOTHER_CLUSTER, why)
        check(known)
        return self.commit(replace(known, writer=known.writer + 1, nonce=self._nonce, number=0))

    def nothing_is_unnamed(self) -> None:
        """A store whose manifest went is not begun anew beside what that had named. Raises StoreProblem."""
        if found := self._names():
            why = f"{self.url} has {len(found)} objects of an archive, {found[0]} first, and no {manifests.NAME}"
            raise StoreProblem(StoreStanding.UNNAMED, why)

    def commit(self, manifest: Manifest) -> Manifest:
        """Replace the manifest by this one. What it names is in the store."""
        made = replace(manifest, number=manifest.number + 1)
        with _told(), suppress(Changed):
            self._bucket.put_if(manifests.NAME, manifests.encode(made), self._tag)
        self._seen(made)
        self._put.clear()
        return made

    def _seen(self, made: Manifest) -> None:
        """The manifest that was put is there. Else it is another writer's doing, or the store forgot what it had
        acknowledged, or went back in time; an answer that was lost on the way is no reason.
        """
        found = self._tagged()
        if found is None:
            with _told():
                self._bucket.delete(self._put)  # or it would be there, unnamed, in a store that somebody has emptied
            raise StoreProblem(StoreStanding.LOST, f"{self.url} has no {manifests.NAME} any more")
        known, self._tag = found
        if known == made:
            return
        if known.nonce != made.nonce and known.writer >= made.writer:
            raise StoreProblem(StoreStanding.IN_USE, f"another process took {self.url} over (writer {known.writer})")
        told = f"{self.url} shows an earlier {manifests.NAME} than the one that it had acknowledged"
        raise StoreProblem(StoreStanding.LOST, told)

    def _read_back(self, made: Manifest) -> Manifest:
        found = self._tagged()
        if found is None:
            raise StoreProblem(StoreStanding.LOST, f"{self.url} does not have the {manifests.NAME} that was put")
        known, self._tag = found
        if known != made:
            raise StoreProblem(StoreStanding.IN_USE, "another process took it over meanwhile")
        return made

    def put(self, kind: str, data: bytes, writer: int) -> Stored:
        """An object that nobody has put: its name is drawn. `kind` begins it."""
        name = f"{kind}.{writer:06d}-{uuid.uuid4().hex[:12]}"
        self._put.append(name)
        digest, key = hashlib.sha256(data).hexdigest(), ""
        if self.keys is not None:
            data, key = seal(data, name, self.keys), self.keys.current
        with _told():
            try:
                self._bucket.put_new(name, data)
            except Exists:  # an answer was lost on the way, and it was put again
                if self._bucket.get(name) != data:
                    raise StoreProblem(StoreStanding.DAMAGED, f"{name} has bytes that nobody has put") from None
        made = Stored(name, len(data), digest, key)
        if not self.has(made):
            raise StoreProblem(StoreStanding.LOST, f"{self.url} acknowledged {name} and does not have it whole")
        return made

    def has(self, stored: Stored) -> bool:
        """As large as it was put."""
        with _told():
            return self._bucket.size(stored.name) == stored.size

    def get(self, stored: Stored) -> bytes:
        """What was put, or StoreProblem."""
        with _told():
            data = self._bucket.get(stored.name)
        if data is None or len(data) != stored.size:
            found = "is not there" if data is None else f"has {len(data)} bytes instead of {stored.size}"
            raise StoreProblem(StoreStanding.DAMAGED, f"{stored.name} of {self.url} {found}")
        if stored.key:
            if self.keys is None or stored.key not in self.keys.found:
                raise StoreProblem(StoreStanding.BAD_KEYS, f"{stored.name} is sealed with the key {stored.key}")
            try:
                data = unseal(data, stored.name, self.keys)
            except BadSeal as error:
                raise StoreProblem(StoreStanding.DAMAGED, f"{self.url}: {error}") from error
        if hashlib.sha256(data).hexdigest() != stored.digest:
            raise StoreProblem(StoreStanding.DAMAGED, f"{stored.name} of {self.url} is not what was put")
        return data

    def sweep(self, manifest: Manifest) -> int:
        """Delete what earlier writers put and nobody names; how many that were. A later writer's are not touched: this
        one may have been taken over without knowing.
        """
        named = {each.name for each in manifest.objects}
        gone = [name for name in self._names() if name not in named and _writer_of(name) < manifest.writer]
        with _told():
            self._bucket.delete(gone)
        return len(gone)

    def _names(self) -> list[str]:
        with _told():
            return [name for kind in ("log", "snapshots") for name in self._bucket.names(kind)]

    def delete(self, gone: tuple[Stored, ...]) -> None:
        """No manifest names them any more."""
        with _told():
            self._bucket.delete([each.name for each in gone])

    def _tagged(self) -> tuple[Manifest, str] | None:
        with _told():
            found = self._bucket.get_tagged(manifests.NAME)
        if found is None:
            return None
        try:
            return manifests.decode(found[0]), found[1]
        except BadManifest as error:
            raise StoreProblem(StoreStanding.DAMAGED, f"{manifests.NAME} of {self.url}: {error}") from error


def _writer_of(name: str) -> int:
    number = name.rpartition(".")[2].partition("-")[0]
    return int(number) if number.isdecimal() else 1 << 62


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        standing = StoreStanding.REFUSED if error.refused else StoreStanding.AWAY
        raise StoreProblem(standing, error.what) from error
    except PipelineError as error:
        raise StoreProblem(StoreStanding.REFUSED, error.what) from error
