"""Image archives: what is in them, and that the same inputs give the same bytes."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from deploy.images import bytecode, oci

pytestmark = pytest.mark.unit

CONFIG = oci.Config(user="65532:65532", entrypoint=("/bin/a",), arguments=("b",), environment=("X=1",))


def layer_names(path: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(path) as tar:
        return {member.name: member for member in tar}


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, bytes]]:
    """index, manifest, config, all files; every blob's bytes are checked against its name."""
    with tarfile.open(path) as tar:
        files = {member.name: file.read() for member in tar if (file := tar.extractfile(member))}
    for name, data in files.items():
        if name.startswith("blobs/"):
            assert hashlib.sha256(data).hexdigest() == name.rpartition("/")[2]
    index = json.loads(files["index.json"])
    manifest = json.loads(files[blob(index["manifests"][0])])
    return index, manifest, json.loads(files[blob(manifest["config"])]), files


def blob(descriptor: dict[str, str]) -> str:
    return "blobs/" + descriptor["digest"].replace(":", "/")


def make_tree(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "tool").write_text("x")
    (folder / "bin" / "tool").chmod(0o700)
    (folder / "data").write_text("y")
    (folder / "data").chmod(0o600)
    (folder / "link").symlink_to("bin/tool")
    (folder / "folder-link").symlink_to("bin")
    return folder


def test_a_tree_becomes_readable_for_everyone_and_stays_executable(tmp_path: Path) -> None:
    oci.write_layer(tmp_path / "layer", oci.tree(make_tree(tmp_path / "tree"), "opt/x"))
    found = layer_names(tmp_path / "layer")
    assert {name: oct(info.mode) for name, info in found.items() if info.isfile()} == {
        "opt/x/bin/tool": "0o755",
        "opt/x/data": "0o644",
    }
    assert found["opt/x/link"].linkname == "bin/tool"
    assert found["opt/x/folder-link"].linkname == "bin"
    assert {(info.uid, info.gid, info.mtime, info.uname) for info in found.values()} == {(0, 0, 0, "")}


def test_the_same_inputs_give_the_same_image_whatever_the_times_on_the_disk(tmp_path: Path) -> None:
    digests: list[str] = []
    for name in ("first", "second"):
        folder = make_tree(tmp_path / name / "tree")
        os.utime(folder / "data", (len(digests), len(digests)))
        layer = oci.write_layer(tmp_path / name / "layer", oci.tree(folder, "x"))
        digests.append(oci.write_image(tmp_path / name / "image.tar", "localhost/x:1", (layer,), CONFIG))
    assert digests[0] == digests[1]
    assert (tmp_path / "first/image.tar").read_bytes() == (tmp_path / "second/image.tar").read_bytes()


def test_an_archive_is_named_and_complete(tmp_path: Path) -> None:
    layer = oci.write_layer(tmp_path / "layer", [oci.Entry("a", 0o644, content=b"hello")])
    digest = oci.write_image(tmp_path / "image.tar", "localhost/x:1", (layer,), CONFIG)
    index, manifest, config, files = read_archive(tmp_path / "image.tar")
    assert index["manifests"][0]["annotations"]["io.containerd.image.name"] == "localhost/x:1"
    assert index["manifests"][0]["digest"] == digest
    assert config["config"] == {"User": "65532:65532", "Entrypoint": ["/bin/a"], "Cmd": ["b"], "Env": ["X=1"]}
    assert config["rootfs"]["diff_ids"] == [each["digest"] for each in manifest["layers"]]
    with tarfile.open(fileobj=io.BytesIO(files[blob(manifest["layers"][0])])) as tar:
        assert tar.getnames() == ["a"]


def test_a_layer_used_twice_is_stored_once(tmp_path: Path) -> None:
    layer = oci.write_layer(tmp_path / "layer", [oci.Entry("a", content=b"")])
    oci.write_image(tmp_path / "image.tar", "localhost/x:1", (layer, layer), CONFIG)
    with tarfile.open(tmp_path / "image.tar") as tar:
        assert len(tar.getnames()) == len(set(tar.getnames()))


def test_compiled_modules_depend_on_source_and_path_only_and_need_no_look_at_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled: list[bytes] = []
    for name in ("one", "two"):
        source = tmp_path / name / "module.py"
        source.parent.mkdir()
        source.write_text("x = 1\n")
        os.utime(source, (len(compiled), 0))
        compiled.append(bytecode.compiled(source, "/opt/module.py"))
    assert compiled[0] == compiled[1]
    assert int.from_bytes(compiled[0][4:8], "little") == 0b01, "hash based, unchecked (PEP 552)"
    assert bytecode.cache_path("opt/module.py") == "opt/__pycache__/module.cpython-311.pyc"
