"""The configuration of the single-machine Kubernetes, as text."""

import json
from pathlib import Path

import pytest

from deploy.devcluster import pki, render
from deploy.devcluster.components import Phase, components, of_node
from deploy.devcluster.instance import MAX_NODES, Instance

pytestmark = pytest.mark.unit

THREE = Instance("main", Path("/state"), Path("/programs"), 3, 40000)


def test_a_kubelet_accepts_cgroup_version_1_only_where_the_machine_has_it() -> None:
    assert json.loads(render.kubelet(THREE, THREE.first, 1))["failCgroupV1"] is False
    assert json.loads(render.kubelet(THREE, THREE.first, 2))["failCgroupV1"] is True


def test_kubelets_share_nothing_but_the_network() -> None:
    documents = [json.loads(render.kubelet(THREE, node, 1)) for node in THREE.nodes]
    for own in ("address", "healthzPort", "cgroupRoot", "containerRuntimeEndpoint", "podLogsDir", "tlsCertFile"):
        assert len({document[own] for document in documents}) == 3, own


def test_every_kubelet_speaks_to_the_container_runtime_of_its_own_node() -> None:
    for node in THREE.nodes:
        endpoint = json.loads(render.kubelet(THREE, node, 1))["containerRuntimeEndpoint"].removeprefix("unix://")
        assert f'address = "{endpoint}"' in render.containerd(THREE, node, Path("/cni"))


def test_two_instances_have_no_path_and_no_cgroup_in_common() -> None:
    other = Instance("other", Path("/state2"), Path("/programs"), 3, 40001)
    assert {THREE.cgroup(node) for node in THREE.nodes}.isdisjoint(other.cgroup(node) for node in other.nodes)
    text = json.dumps(render.config_files(other, cgroup_version=1, cni_binaries=Path("/cni")))
    assert "/state/" not in text


def test_an_instance_is_not_taken_for_another_whose_name_it_begins_with() -> None:
    longer = Instance("main-2", Path("/state2"), Path("/programs"))
    assert not longer.cgroup(longer.first).startswith(THREE.cgroup(THREE.first))


def test_every_file_that_a_component_is_started_with_is_written() -> None:
    files = {
        f"/state/config/{name}" for name in render.config_files(THREE, cgroup_version=1, cni_binaries=Path("/cni"))
    }
    for component in components(THREE):
        for argument in component.command:
            value = argument.rpartition("=")[2]
            assert not value.startswith("/state/config/") or value in files, (component.name, value)


def test_every_certificate_that_a_component_is_started_with_is_made() -> None:
    made = {identity.name for identity in pki.identities(THREE)} | {"ca", "sa"}
    for component in components(THREE):
        for argument in component.command:
            value = argument.rpartition("=")[2]
            if value.startswith("/state/pki/"):
                assert Path(value).stem in made, (component.name, value)


def test_the_api_server_is_trusted_by_the_host_through_the_relay_and_by_pods() -> None:
    names = next(identity.alternative_names for identity in pki.identities(THREE) if identity.name == "apiserver")
    assert {"IP:127.0.0.1", "IP:10.96.0.1", "IP:10.244.0.1", "DNS:kubernetes.default.svc"} <= set(names)
    document = json.loads(render.kubeconfig(THREE, "admin", THREE.host_api_url))
    assert document["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:40000"


def test_a_node_certificate_carries_the_name_by_which_node_authorization_knows_it() -> None:
    subjects = {identity.name: identity.subject for identity in pki.identities(THREE)}
    assert subjects["node2"] == "/O=system:nodes/CN=system:node:node2"


def test_only_etcd_the_api_server_and_the_runtimes_start_before_the_api_answers() -> None:
    first = {component.name for component in components(THREE) if component.phase is Phase.FIRST}
    assert first == {"etcd", "apiserver", "containerd-1", "containerd-2", "containerd-3"}


def test_a_node_is_its_runtime_and_its_kubelet() -> None:
    names = [component.name for component in of_node(THREE, THREE.nodes[1])]
    assert names == ["containerd-2", "kubelet-2"]
    assert {component.name for component in components(THREE) if component.node == THREE.nodes[1]} == set(names)


@pytest.mark.parametrize("name", ["", "Main", "a_b", "-a", "a-", "a" * 23, "../x"])
def test_a_name_that_could_leave_its_folder_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a cluster's name is"):
        Instance(name, Path("/state"), Path("/programs"))


@pytest.mark.parametrize("count", [0, MAX_NODES + 1])
def test_a_number_of_nodes_beyond_the_addresses_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"not {count}"):
        Instance("main", Path("/state"), Path("/programs"), count)
