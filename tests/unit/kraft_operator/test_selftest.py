"""`kraft-operator selftest` over an API made of values: every missing thing is named, and nothing is when
all is there.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kraft_operator import selftest
from kraft_operator.kube import CLUSTER, LEASE, Kind, NotFound, Object

pytestmark = pytest.mark.unit


class Api:
    """Definitions that are served, rights that are granted but for some, a Lease of some age."""

    def __init__(
        self, denied: tuple[str, ...] = (), age: float = 1.0, definitions: tuple[str, ...] = selftest.DEFINITIONS
    ) -> None:
        self.denied, self.age, self.definitions = denied, age, definitions
        self.asked: list[dict[str, str]] = []
        self.clusters: tuple[Object, ...] = ()
        self.gateway_api = False

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        if name.partition(".")[0] not in self.definitions:
            raise NotFound(404, name)
        conditions = [{"type": "Established", "status": "True"}]
        return {"spec": {"versions": [{"name": "v1alpha1", "served": True}]}, "status": {"conditions": conditions}}

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        assert kind is LEASE
        renewed = (datetime.now(UTC) - timedelta(seconds=self.age)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {"spec": {"holderIdentity": "a", "renewTime": renewed, "leaseDurationSeconds": 15}}

    def create(self, kind: Kind, namespace: str | None, body: Object) -> Object:
        asked = body["spec"]["resourceAttributes"]
        self.asked.append(asked)
        return {"status": {"allowed": f"{asked['verb']} {asked['resource']}" not in self.denied}}

    def list(self, kind: Kind, namespace: str | None) -> tuple[Object, ...]:
        assert kind is CLUSTER
        return tuple(each for each in self.clusters if namespace in (None, each["metadata"]["namespace"]))

    def discover(self, api: str) -> tuple[Object, ...]:
        if "gateway" in api:
            if not self.gateway_api:
                raise NotFound(404, api)
            return ({"name": "tlsroutes", "kind": "TLSRoute"},)
        if not self.definitions:
            raise NotFound(404, api)
        return tuple({"name": each} for each in (*self.definitions, "kraftclusters/status"))


def run(api: Api, namespaces: tuple[str, ...] = (), *, everywhere: bool = True) -> list[str]:
    any_api: Any = api
    return selftest.run(any_api, ("ops", "kraft-operator"), namespaces, everywhere=everywhere)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "PATIENCE_S", 0.0)


def test_nothing_is_wrong_with_a_whole_installation() -> None:
    assert run(Api()) == []


def test_a_right_that_is_missing_is_named_with_its_namespace() -> None:
    right = "create statefulsets.apps in namespace kafka"
    remedy = f"allow the operator's ServiceAccount to {right} (roles of this version's chart or kustomize base)"
    assert run(Api(denied=("create statefulsets",)), ("kafka",)) == [remedy]


def test_rights_are_asked_for_in_every_watched_namespace_and_for_volumes_nowhere() -> None:
    api = Api()
    run(api, ("one", "two"))
    assert {each.get("namespace") for each in api.asked if each["resource"] == "pods"} == {"one", "two"}
    assert {each.get("namespace") for each in api.asked if each["resource"] == "persistentvolumes"} == {None}


def test_a_lease_that_nobody_renews_and_a_definition_that_is_missing_are_named() -> None:
    found = run(Api(age=120, definitions=("kraftclusters", "kraftusers")))
    assert "kraftoperations.kraft.quorate.dev" in found[0]
    assert found[1].endswith("no operator acts")


def test_rights_on_routes_are_missed_where_a_cluster_asks_for_some_and_nowhere_else() -> None:
    def listening(namespace: str, exposure: str) -> Object:
        return {"metadata": {"namespace": namespace}, "spec": {"endpoints": {"broker": [{}, {"exposure": exposure}]}}}

    api = Api(denied=("watch tlsroutes", "delete tlsroutes"))
    api.clusters = (listening("inside", "NodePort"),)
    assert run(api, ("inside", "edge")) == []
    assert not [each for each in api.asked if each["resource"] == "tlsroutes"]
    api.clusters += (listening("edge", "Gateway"),)
    served, allowed = run(api, ("inside", "edge"))
    assert "install the definition of TLSRoute" in served
    assert "gatewayRoutes: Enabled" in allowed
    assert allowed.endswith("it may not watch, delete them in namespace edge")
    assert {each["namespace"] for each in api.asked if each["resource"] == "tlsroutes"} == {"edge"}
    api.gateway_api, api.denied = True, ()
    assert run(api, ("inside", "edge")) == []


def test_an_installation_with_rights_in_namespaces_only_asks_for_none_beyond_them() -> None:
    api = Api()
    assert run(api, ("kafka",), everywhere=False) == []
    assert {each.get("namespace") for each in api.asked} == {"kafka"}
    (found,) = run(Api(definitions=("kraftclusters", "kraftusers")), ("kafka",), everywhere=False)
    assert (
        found
        == "install the resource definitions of this version (crds/): kraftoperations.kraft.quorate.dev is not served"
    )
    (found,) = run(Api(definitions=()), ("kafka",), everywhere=False)
    assert "kraft.quorate.dev/v1alpha1 is not served" in found
