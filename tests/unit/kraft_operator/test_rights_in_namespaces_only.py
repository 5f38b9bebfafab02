"""What the operator makes of volumes and classes that it may not see: nothing is called lost, nothing is stopped."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator import without_namespace
from kraft_operator.__main__ import settings_from
from kraft_operator.kube import Forbidden, Kind, NotFound, Object
from kraft_operator.observed import Claim
from kraft_operator.settings import BadSetting

pytestmark = pytest.mark.unit

FOUND: dict[str, Object] = {
    "volume": {"spec": {"claimRef": {"uid": "u1"}}},
    "grows": {"allowVolumeExpansion": True},
    "fixed": {},
}


class Api:
    def __init__(self, *, sees: bool) -> None:
        self.sees = sees

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        if not self.sees:
            raise Forbidden(403, f"{kind.plural} is forbidden")
        return FOUND.get(name)

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        if (found := self.find(kind, namespace, name)) is None:
            raise NotFound(404, name)
        return found


def gateway(*, sees: bool) -> Any:
    return Api(sees=sees)


def test_a_volume_that_nobody_may_look_at_counts_as_there() -> None:
    assert without_namespace.volume_exists(gateway(sees=True), "volume")
    assert not without_namespace.volume_exists(gateway(sees=True), "gone")
    assert without_namespace.volume_exists(gateway(sees=False), "gone")
    assert without_namespace.volume(gateway(sees=True), "volume") == FOUND["volume"]
    assert without_namespace.volume(gateway(sees=False), "volume") is None


def test_a_grant_believes_the_claim_only_where_the_volume_may_not_be_read() -> None:
    assert without_namespace.volume_is_of(gateway(sees=True), "volume", "another") == "u1"
    assert without_namespace.volume_is_of(gateway(sees=False), "volume", "another") == "another"
    with pytest.raises(NotFound):
        without_namespace.volume_is_of(gateway(sees=True), "gone", "u1")


def test_whether_a_class_can_grow_is_the_api_servers_to_say_where_the_operator_may_not_read_it() -> None:
    sees, blind = gateway(sees=True), gateway(sees=False)
    assert [without_namespace.may_grow(sees, each) for each in ("grows", "fixed", "gone", "")] == [True, *[False] * 3]
    assert [without_namespace.may_grow(blind, each) for each in ("grows", "gone", "")] == [True, True, False]


def test_a_class_that_nobody_may_look_at_counts_as_there() -> None:
    claims = [
        Claim(f"c{number}", f"u{number}", number, "broker", "b", volume, storage_class=storage_class)
        for number, (volume, storage_class) in enumerate([("", "gone"), ("pv", "lost"), ("", "fixed"), ("", "")])
    ]
    assert without_namespace.missing_classes(gateway(sees=True), claims) == {"gone"}
    assert without_namespace.missing_classes(gateway(sees=False), claims) == frozenset()


def test_rights_in_namespaces_only_are_rights_in_named_ones() -> None:
    found = settings_from([], {"CLUSTER_WIDE_RIGHTS": "Disabled", "WATCH_NAMESPACES": "kafka"})
    assert not found.sees_without_namespace
    assert settings_from(["--namespace=kafka"], {}).sees_without_namespace
    with pytest.raises(BadSetting, match="name the namespaces"):
        settings_from(["--rights-in-namespaces-only"], {})
