"""Cgroups of version 1 and 2, on folders that look like them."""

from pathlib import Path

import pytest

from deploy.devcluster.cgroups import CgroupError, Hierarchies, create, hurry, members, parse, remove

pytestmark = pytest.mark.unit

VERSION_1 = """\
tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
"""
HYBRID = VERSION_1 + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
VERSION_2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n"


def test_version_1_is_a_root_per_controller() -> None:
    assert parse(VERSION_1) == Hierarchies(1, (Path("/sys/fs/cgroup/cpuset"), Path("/sys/fs/cgroup/memory")))


def test_version_2_is_one_root() -> None:
    assert parse(VERSION_2) == Hierarchies(2, (Path("/sys/fs/cgroup"),))


def test_a_hybrid_machine_is_version_1_and_its_other_root_is_cleaned_too() -> None:
    hybrid = parse(HYBRID)
    assert hybrid.version == 1
    assert Path("/sys/fs/cgroup/unified") not in hybrid.roots
    assert Path("/sys/fs/cgroup/unified") in hybrid.everywhere


def test_a_machine_without_cgroups_is_refused() -> None:
    with pytest.raises(CgroupError, match="no cgroup file system"):
        parse("tmpfs /tmp tmpfs rw 0 0\n")


def test_a_new_cpuset_is_filled_before_use(tmp_path: Path) -> None:
    cpuset, memory = tmp_path / "cpuset", tmp_path / "memory"
    cpuset.mkdir()
    memory.mkdir()
    (cpuset / "cpuset.cpus").write_text("0-1\n")
    (cpuset / "cpuset.mems").write_text("0\n")
    create(Hierarchies(1, (cpuset, memory)), "quorate-t-node1")
    assert (cpuset / "quorate-t-node1" / "cpuset.cpus").read_text() == "0-1\n"
    assert (cpuset / "quorate-t-node1" / "cpuset.mems").read_text() == "0\n"
    assert list((memory / "quorate-t-node1").iterdir()) == []


def version_2_root(folder: Path, available: str, enabled: str) -> Hierarchies:
    (folder / "cgroup.controllers").write_text(available)
    (folder / "cgroup.subtree_control").write_text(enabled)
    return Hierarchies(2, (folder,))


def test_version_2_hands_down_only_the_controllers_that_are_not_yet(tmp_path: Path) -> None:
    create(version_2_root(tmp_path, "cpuset cpu io memory hugetlb pids\n", "cpu pids\n"), "quorate-t-node1")
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpuset +io +memory"
    assert (tmp_path / "quorate-t-node1").is_dir()


def test_version_2_names_the_controllers_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(CgroupError, match="lacks the controllers cpuset, io"):
        create(version_2_root(tmp_path, "cpu memory pids\n", ""), "quorate-t-node1")


def test_only_the_cgroups_of_this_instance_are_seen_and_removed(tmp_path: Path) -> None:
    mine, other = tmp_path / "quorate-t-node1" / "kubepods", tmp_path / "quorate-u-node1"
    mine.mkdir(parents=True)
    other.mkdir()
    (other / "cgroup.procs").write_text("1\n")
    hierarchies = Hierarchies(1, (tmp_path,))
    assert members(hierarchies, "quorate-u-") == {1}
    assert members(hierarchies, "quorate-t-") == set()
    remove(hierarchies, "quorate-t-")
    assert [path.name for path in tmp_path.iterdir()] == ["quorate-u-node1"]


def test_a_cgroup_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    stuck = tmp_path / "quorate-t-node1"
    stuck.mkdir()
    (stuck / "file").touch()
    with pytest.raises(CgroupError, match="quorate-t-node1"):
        remove(Hierarchies(1, (tmp_path,)), "quorate-t-", patience_seconds=0)


def test_what_is_to_end_gets_the_processor_down_to_the_smallest_pod(tmp_path: Path) -> None:
    pod, other = tmp_path / "quorate-t-node1" / "kubepods" / "besteffort", tmp_path / "quorate-u-node1"
    pod.mkdir(parents=True)
    other.mkdir()
    for folder in (pod, other):
        (folder / "cpu.shares").write_text("2\n")
    hurry(Hierarchies(1, (tmp_path,)), "quorate-t-")
    assert (pod / "cpu.shares").read_text() == "262144"
    assert (other / "cpu.shares").read_text() == "2\n"
