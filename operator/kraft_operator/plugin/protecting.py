"""`kubectl kraft protect CLUSTER`: the volumes of a cluster outlive their claims, whoever deletes these.

Sets the reclaim policy of every bound PersistentVolume to Retain, with the rights of whoever calls it. Each volume is
patched only as the one that was read and while it is bound to the claim that was read, so doing it twice, or dying in
the middle, does no harm. Nothing is restarted and nothing deleted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from kraft_operator.api import names
from kraft_operator.kube import CLAIM, CLUSTER, VOLUME, Gateway, KubeError, Object

Outcome = tuple[str, str, str]
"""Claim, volume, what became of it."""


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    help_text = "let the volumes outlive their claims (reclaim policy Retain)"
    commands.add_parser("protect", parents=[common], help=help_text).set_defaults(run=_protect)


def _protect(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    kube.get(CLUSTER, given.namespace, given.cluster)
    claims = kube.list(CLAIM, given.namespace, f"{names.LABEL_CLUSTER}={given.cluster}")
    outcomes, failed = [], False
    for claim in sorted(claims, key=lambda each: str(each["metadata"]["name"])):
        try:
            outcomes.append(_retained(claim, kube))
        except KubeError as error:
            failed = True
            print(f"{claim['metadata']['name']}: {error.message}", file=sys.stderr)
    going = [claim["metadata"]["name"] for claim in claims if claim["metadata"].get("deletionTimestamp")]
    if given.output == "json":
        rows = [{"claim": claim, "volume": volume, "outcome": what} for claim, volume, what in outcomes]
        tell(json.dumps({"volumes": rows, "terminating": going}, indent=1))
        return int(failed)
    for claim_name, volume, what in outcomes:
        tell(f"{claim_name}: {f'{volume} ' if volume else ''}{what}")
    if going:
        tell(
            f"still being deleted: {', '.join(going)}; their data stays; a KRaftOperation of type ProtectClaims makes "
            "them anew, see docs/operations/deleted-claims.md"
        )
    return int(failed)


def _retained(claim: Object, kube: Gateway) -> Outcome:
    name, volume_name = claim["metadata"]["name"], claim["spec"].get("volumeName") or ""
    if not volume_name:
        return name, "", "has no volume yet"
    volume = kube.get(VOLUME, None, volume_name)
    if (volume["spec"].get("claimRef") or {}).get("uid") != claim["metadata"]["uid"]:
        return name, volume_name, "belongs to another claim: left as it is"
    if volume["spec"].get("persistentVolumeReclaimPolicy") == "Retain":
        return name, volume_name, "is retained already"
    change = {"metadata": {"uid": volume["metadata"]["uid"]}, "spec": {"persistentVolumeReclaimPolicy": "Retain"}}
    kube.patch(VOLUME, "", volume_name, change)
    return name, volume_name, "is retained from now on"
