"""The stores of one listener, as they are on disk now: contexts for those who connect and for where it connects.

`look` reads them anew when a file has changed: later connections get what is in them, those that are open keep what
they have. What cannot be used is said once, and the old contents go on serving; so a file that is half written costs a
line in the log.
"""

from __future__ import annotations

import logging
import os
import ssl
from calendar import timegm
from typing import Final

from controller_runtime.network.tls import (
    Material,
    TlsError,
    client_context,
    load_material,
    prove,
    server_context,
)
from controller_runtime.security.der import read_certificate
from controller_runtime.security.renewal import check_renewal
from controller_runtime.security.stores.contents import StoreError
from controller_runtime.security.tls_settings import TlsSettings
from controller_runtime.values import replace

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""How often files are looked at for changes."""
EXPIRY_WARNING_SECONDS: Final = 30 * 86400
_SAY_AGAIN_SECONDS: Final = 86400.0

_Contexts = tuple[Material, ssl.SSLContext | None, ssl.SSLContext]
"""What is on disk, and made of it: for who connects, and for where this node connects."""
Stamps = tuple[tuple[int, int, int] | None, ...]


class TlsStores:
    def __init__(self, name: str, settings: TlsSettings, *, proves_itself: bool = False) -> None:
        """`name`: of the listener, for the log. `proves_itself`: its own certificate has to pass by its own trust store
        (brokers connect to each other by it). Raises TlsError.
        """
        self.name = name
        self.settings = settings
        self.reloads = 0
        self.failed_reloads = 0
        self._proves_itself = proves_itself
        self._seen = _stamps(settings)
        self._material, self._server, self.client = self._contexts(settings, load_material(settings))
        self._said_at: float | None = None

    def look(self, *, anew: bool = False) -> bool:
        """Were stores read anew, with success? `anew`: also if no file has changed."""
        stamps = _stamps(self.settings)
        if stamps == self._seen and not anew:
            return False
        self._seen = stamps
        return self.change(self.settings)

    def change(self, settings: TlsSettings) -> bool:
        """Take other stores, or the same ones again, if they can be used."""
        try:
            contexts = self._contexts_of(settings)
        except (TlsError, StoreError) as error:
            self.failed_reloads += 1
            log.error("%s keeps the certificates that it has: %s", self.name, error)
            return False
        self.settings = settings
        self._material, self._server, self.client = contexts
        self._seen = _stamps(settings)
        self.reloads += 1
        self._said_at = None
        log.info("%s: key store and trust store were read anew, new connections use them", self.name)
        return True

    def fault_of(self, settings: TlsSettings) -> str | None:
        """Why other stores could not be taken, if they could not. Nothing changes."""
        try:
            self._contexts_of(settings)
        except (TlsError, StoreError) as error:
            return str(error)
        return None

    def _contexts_of(self, settings: TlsSettings) -> _Contexts:
        """Of stores that come after those that there are. Raises TlsError, StoreError."""
        _check_presence(self.settings, settings)
        material = load_material(settings)
        if self._material.own is not None and material.own is not None:
            check_renewal(settings, self._material.own.chain[0], material.own.chain[0])
        return self._contexts(settings, material)

    def _contexts(self, settings: TlsSettings, material: Material) -> _Contexts:
        """Raises TlsError."""
        server = server_context(settings, material) if material.own is not None else None
        client = client_context(settings, material)
        if self._proves_itself and server is not None:
            prove(server, client_context(replace(settings, checks_host=False), material))
        return material, server, client

    @property
    def server(self) -> ssl.SSLContext:
        assert self._server is not None, "a listener without a key store does not start"
        return self._server

    @property
    def not_after(self) -> int | None:
        """When the first of its own chain ends, in seconds since 1970."""
        own = self._material.own
        return None if own is None else min(map(_ends, own.chain))

    def warn_of_the_end(self, wall_seconds: float) -> None:
        """Once a day, from a month before."""
        ends = self.not_after
        if ends is None or ends - wall_seconds > EXPIRY_WARNING_SECONDS:
            return
        if self._said_at is None or wall_seconds - self._said_at >= _SAY_AGAIN_SECONDS:
            self._said_at = wall_seconds
            left = (ends - wall_seconds) / 86400
            when = f"ends in {left:.1f} days" if left > 0 else f"ended {-left:.1f} days ago"
            log.warning("%s: replace its certificate, which %s", self.name, when)


def _check_presence(before: TlsSettings, after: TlsSettings) -> None:
    """As in Kafka: a store does not appear or vanish while a node runs. Raises StoreError."""
    if (before.keystore is None) != (after.keystore is None):
        raise StoreError("a keystore cannot be added to a listener, or taken from it, while the node runs")
    if before.truststore is None and after.truststore is not None:
        raise StoreError("a truststore cannot be added to a listener while the node runs")


def _ends(der: bytes) -> int:
    text = read_certificate(der).not_after
    parts = (text[:4], text[4:6], text[6:8], text[8:10], text[10:12], text[12:14])
    return timegm(tuple(map(int, parts)))


def _stamps(settings: TlsSettings) -> Stamps:
    return tuple(
        None if store is None or store.location is None else _stamp(store.location)
        for store in (settings.keystore, settings.truststore)
    )


def _stamp(place: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
