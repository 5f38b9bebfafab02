"""Credentials of a fleet file that lie in Secrets: read by an account that may get some of them, from a real API server
where one was built, and from one made of values; told by nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metadata_pipeline import cli
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.wire.fleet import Quorum, security_of
from metadata_pipeline.wire.secret_keys import SecretKey
from support.kubernetes.api_alone import ApiAlone, api_server
from support.kubernetes.secret_server import SecretServer, secret_server
from support.nodes.processes import CLUSTER_ID, eventually
from support.pipeline.lake_rows import log_rows
from support.security.authority import Authority
from support.security.sasl_cluster import PASSWORD, USER, SaslCluster, client_file

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/kafka"
Api = ApiAlone | SecretServer


def put(api: Api, name: str, **data: str) -> None:
    api.put_secret("kafka", name, {key.replace("_", "."): text.encode() for key, text in data.items()})


@contextmanager
def real(folder: Path) -> Iterator[ApiAlone]:
    with api_server(folder / "api") as running:
        metadata = {"name": "pipeline"}
        running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "kafka"}})
        running.ask("POST", "/api/v1/namespaces/kafka/serviceaccounts", {"metadata": metadata})
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["reader", "gone"], "verbs": ["get"]}
        running.ask("POST", f"{RBAC}/roles", {"metadata": metadata, "rules": [rule]})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pipeline"}
        subject = {"kind": "ServiceAccount", "name": "pipeline", "namespace": "kafka"}
        running.ask("POST", f"{RBAC}/rolebindings", {"metadata": metadata, "roleRef": role, "subjects": [subject]})
        yield running


@pytest.fixture(scope="module", params=["of values", "real"])
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """With an account `pipeline` that may get the Secrets `reader` and `gone` of the namespace `kafka`."""
    folder = tmp_path_factory.mktemp("kubernetes")
    made = real(folder) if request.param == "real" else secret_server(folder, ("kafka", "reader"), ("kafka", "gone"))
    with made as running:
        yield running


@pytest.fixture
def pod(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """This process has what a pod of that account has."""
    api.account(tmp_path / "account", "kafka", "pipeline")
    monkeypatch.setattr("metadata_pipeline.wire.secret_keys.ACCOUNT", tmp_path / "account")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
    return api


def test_a_quorum_is_read_with_what_its_secret_says_and_others_are_told_apart(
    pod: Api, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    with SaslCluster(tmp_path, controllers=1, brokers=0) as cluster:
        cluster.start()
        at = cluster.bootstrap_controllers
        held = Path(client_file(tmp_path / "reader.properties", "PLAIN", USER, PASSWORD)).read_text()
        put(pod, "reader", client_properties=held, other="x")
        put(pod, "admin", client_properties=held)
        fleet = tmp_path / "fleet.yaml"
        fleet.write_text(f"""
quorums:
  - {{name: read, bootstrap: "{at}", cluster-id: {CLUSTER_ID}, secret: reader}}
  - {{name: forbidden, bootstrap: "{at}", cluster-id: other-a, secret: kafka/admin}}
  - {{name: gone, bootstrap: "{at}", cluster-id: other-b, secret: kafka/gone}}
  - {{name: keyless, bootstrap: "{at}", cluster-id: other-c, secret: kafka/reader, secret-key: their.properties}}
""")
        command = ["ingest", "--fleet", str(fleet), "--output", str(lake), "--master", "none"]
        eventually(
            "a log that what the account may get has opened",
            lambda: cli.main(command) == 0 and (lake / "data" / "records").exists() and log_rows(lake),
        )
        said = "".join(capfd.readouterr())
        for told in (
            "kafka/admin: the API server says 403", "let the pod's account get secrets/admin in kafka",
            "kafka/gone: the API server says 404", "the Secret's keys are client.properties, other",
        ):  # fmt: skip
            assert told in said
        put(pod, "reader", client_properties=held.replace(PASSWORD, "another-password"))
        known = len(log_rows(lake))
        assert cli.main(command) == 0
        said += "".join(capfd.readouterr())
        assert len(log_rows(lake)) == known, "the Secret is read anew each time"
    kept = b"".join(each.read_bytes() for each in lake.rglob("*") if each.is_file())
    for canary in (PASSWORD, "another-password", (tmp_path / "account" / "token").read_text()):
        assert canary not in said
        assert canary.encode() not in kept


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=canary;\n", "sasl.jaas.config"),
        ("config.providers=file\nsecurity.protocol=SSL\n", "config.providers are for files"),
        ("security.protocol=canary\n", "no security.protocol of Kafka's"),
        ("canary\n", "is it the right key"),
    ],
)
def test_what_a_secret_says_wrong_is_named_without_its_value(pod: Api, held: str, told: str) -> None:
    put(pod, "reader", client_properties=held)
    with pytest.raises(PipelineError, match=told) as refused:
        security_of(Quorum("q", "h:1", secret=SecretKey("reader", "kafka")))
    assert "canary" not in f"{refused.value} {refused.value.__cause__}"


@pytest.mark.parametrize("held", [b"\xff\xfecanary", b""])
def test_what_is_no_text_is_named_without_it(pod: Api, held: bytes) -> None:
    pod.put_secret("kafka", "reader", {"client.properties": held})
    with pytest.raises(PipelineError, match=r"is no text|is it the right key") as refused:
        security_of(Quorum("q", "h:1", secret=SecretKey("reader", "kafka")))
    assert "canary" not in f"{refused.value} {refused.value.__cause__}"


def test_outside_of_a_pod_a_file_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(PipelineError, match="name a file with `properties`"):
        security_of(Quorum("q", "h:1", secret=SecretKey("reader", "kafka")))


def test_an_authority_that_is_not_the_pods_own_is_not_believed(pod: Api, tmp_path: Path) -> None:
    Authority("another").write(tmp_path / "account", "ca.crt")
    with pytest.raises(PipelineError, match="the API server was not asked") as refused:
        security_of(Quorum("q", "h:1", secret=SecretKey("reader")))
    assert (tmp_path / "account" / "token").read_text() not in str(refused.value)
