"""Whether an operator answers at all: a status that nobody writes any more looks like good news.

An operator that acts renews its Lease every two seconds. The newest Lease of that name tells when one was heard the
last time; which clusters it watches is not in the Lease, so with several operators the newest one speaks for all.
Clocks differ: less than a minute is no silence. Where no Lease has that name (`--lease-name`), nothing is known, and
nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from kraft_operator.kube import LEASE, Gateway, KubeError, Object

LEASE_NAME: Final = "kraft-operator"
SILENT_SECONDS: Final = 60.0
LOOK: Final = "look at its pods: kubectl get pods -A -l app.kubernetes.io/name=kraft-operator"


def silence(kube: Gateway, now: datetime) -> str | None:
    """What the first line has to say; None while an operator answers, or when the caller may not read Leases."""
    try:
        leases = kube.list(LEASE, None)
    except KubeError:
        return None
    return silent_since(leases, now)


def silent_since(leases: Iterable[Object], now: datetime) -> str | None:
    heard = [
        datetime.fromisoformat(each["spec"]["renewTime"])
        for each in leases
        if each["metadata"]["name"] == LEASE_NAME and (each.get("spec") or {}).get("renewTime")
    ]
    if not heard:
        return None
    seconds = (now - max(heard)).total_seconds()
    if seconds < SILENT_SECONDS:
        return None
    return f"NO OPERATOR has answered for {_span(seconds)}, and what follows is as old; {LOOK}"


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"
