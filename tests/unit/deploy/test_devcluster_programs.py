"""What a machine must have, how programs are built, and how commands are taken apart."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.devcluster import build, cli, cluster, keeper, namespaces, requirements
from deploy.devcluster.instance import Instance, state_home
from deploy.devcluster.requirements import BUILD_BYTES, Machine, lacks

pytestmark = pytest.mark.unit

FIT = Machine(is_root=True, go_version="go1.26.8", free_bytes=BUILD_BYTES, missing_packages=())


def test_a_fit_machine_lacks_nothing() -> None:
    assert lacks(FIT, must_build=True) == []


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        (replace(FIT, is_root=False), "needs root"),
        (replace(FIT, go_version=None), "needs Go 1.26 or newer on the PATH; found: no Go"),
        (replace(FIT, go_version="go1.25.3"), "found: go1.25.3"),
        (replace(FIT, free_bytes=10**9), "disk space: 1.0 GB are free, 10 GB are needed"),
        (replace(FIT, missing_packages=("runc", "iptables")), "apt-get install runc iptables"),
    ],
)
def test_each_lack_is_one_sentence_with_its_remedy(machine: Machine, sentence: str) -> None:
    (found,) = lacks(machine, must_build=True)
    assert sentence in found


def test_go_and_much_disk_are_needed_only_to_build() -> None:
    built = replace(FIT, go_version=None, free_bytes=BUILD_BYTES // 2)
    assert lacks(built, must_build=False) == []


@pytest.mark.parametrize(
    ("text", "version"), [("go1.26", (1, 26)), ("go1.27rc1", (1, 27)), ("devel +abc", (0, 0)), ("go1.26.8", (1, 26))]
)
def test_go_versions_are_numbers(text: str, version: tuple[int, int]) -> None:
    assert requirements.parse_go_version(text) == version


def test_the_cache_is_another_one_when_a_source_or_the_compiler_changes(tmp_path: Path) -> None:
    sources = tmp_path / "go"
    shutil.copytree(build.SOURCES, sources)
    key = build.cache_key("go1.26.8", sources)
    assert build.cache_key("go1.26.8", sources) == key
    assert build.cache_key("go1.26.9", sources) != key
    with (sources / "helm" / "go.sum").open("a") as file:
        file.write("\n")
    assert build.cache_key("go1.26.8", sources) != key


def test_every_module_is_pinned_by_sums_that_are_committed() -> None:
    for program in build.PROGRAMS:
        for name in ("go.mod", "go.sum"):
            assert (build.SOURCES / program.folder / name).stat().st_size > 0


@pytest.fixture
def go_that_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A compiler in front of the real one on the PATH, with a script of our choice."""

    def put(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "go").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "go").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return put


def test_a_build_that_fails_says_what_the_compiler_said_and_leaves_nothing(
    tmp_path: Path, go_that_says: Callable[[str], None]
) -> None:
    go_that_says("echo 'main.go:7: undefined: kubelet'; exit 1")
    binaries = tmp_path / "binaries"
    binaries.mkdir()
    with pytest.raises(build.BuildError, match=r"coredns could not be built:\n  main.go:7: undefined: kubelet"):
        build.build(build.PROGRAMS[1], binaries, lambda _: None)
    assert list(binaries.iterdir()) == []


def test_a_program_appears_whole_under_its_name_and_its_links(
    tmp_path: Path, go_that_says: Callable[[str], None]
) -> None:
    go_that_says(
        'while [ "$1" != -o ]; do shift; done; mkdir -p "$(dirname "$2")"; echo program > "$2"; echo k8s.io/api'
    )
    lines: list[str] = []
    binaries = tmp_path / "binaries"
    binaries.mkdir()
    build.build(build.PROGRAMS[0], binaries, lines.append)
    assert (binaries / "kube").read_text() == "program\n"
    assert (binaries / "kubectl").readlink() == Path("kube")
    assert sorted(path.name for path in binaries.iterdir()) == ["kube", "kubectl"]
    assert lines == ["k8s.io/api"]
    assert [program.name for program in build.missing(binaries)] == ["coredns", "local-path-provisioner", "helm"]


@pytest.mark.parametrize(
    ("given", "own", "passed"),
    [
        (["kubectl", "-n", "x", "get", "pods"], ["kubectl"], ["-n", "x", "get", "pods"]),
        (["--name", "a", "helm", "list"], ["--name", "a", "helm"], ["list"]),
        (["in", "--", "ls", "-l"], ["in"], ["--", "ls", "-l"]),
        (["--name", "in", "up", "--nodes", "1"], ["--name", "in", "up", "--nodes", "1"], []),
        (["load", "in"], ["load", "in"], []),
        (["status"], ["status"], []),
    ],
)
def test_options_behind_kubectl_helm_and_in_are_left_alone(given: list[str], own: list[str], passed: list[str]) -> None:
    assert cli.split(given) == (own, passed)


def test_a_command_for_a_cluster_that_is_not_there_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert cli.main(["kubectl", "get", "nodes"]) == 1
    assert capsys.readouterr().err == "devcluster: no cluster named main runs here; `up` starts it\n"
    assert cli.main(["status"]) == 1
    assert cli.main(["down"]) == 0
    assert "no cluster named main was there" in capsys.readouterr().out


def test_a_keeper_that_died_is_not_mistaken_for_one_that_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    instance = Instance("main", state_home() / "main", tmp_path)
    instance.state.mkdir(parents=True)
    keeper.save(instance)
    instance.pid_file.write_text(f"{os.getpid()} 1\n")  # our number, another start: a later process of that number
    assert cluster.find("main") is None
    instance.pid_file.write_text(f"{os.getpid()} {namespaces.start_time(os.getpid())}\n")
    assert cluster.find("main") == instance
