"""A release: the same bytes twice, lists of materials, sums and signatures that openssl checks."""

import base64
import gzip
import hashlib
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from deploy.images import oci, spec
from deploy.release import architectures, archive, materials, packages, signing
from deploy.release.__main__ import main

pytestmark = pytest.mark.unit

PIN = packages.Pin("arm64", "libc6", "2:2.36-9+deb12u14", "a" * 64)
LIBRARY = materials.Library("Some_Library", "1.0", "b" * 64, "MIT")


def made(folder: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """An image for both architectures: its digests, and the files of its archive."""
    folder.mkdir()
    layer = oci.write_layer(folder / "layer", [oci.Entry("a", 0o644, content=b"hello" * 100)])
    variants = tuple(archive.Variant(each, (layer, layer), oci.Config(user="1:1")) for each in architectures.ALL)
    digests = archive.write(folder / "x.oci.tar", "quorate/x:1", variants, folder)
    with tarfile.open(folder / "x.oci.tar") as tar:
        return digests, {member.name: file.read() for member in tar if (file := tar.extractfile(member))}


def test_an_index_names_each_architectures_manifest_with_compressed_layers(tmp_path: Path) -> None:
    digests, files = made(tmp_path / "one")

    def blob(descriptor: dict[str, Any]) -> bytes:
        data = files["blobs/" + descriptor["digest"].replace(":", "/")]
        assert (len(data), hashlib.sha256(data).hexdigest()) == (descriptor["size"], descriptor["digest"][7:])
        return data

    (named,) = json.loads(files["index.json"])["manifests"]
    assert named["digest"] == digests["index"]
    assert named["annotations"]["org.opencontainers.image.ref.name"] == "quorate/x:1"
    found = json.loads(blob(named))["manifests"]
    assert [each["platform"]["architecture"] for each in found] == ["amd64", "arm64"]
    for each in found:
        assert each["digest"] == digests[each["platform"]["architecture"]]
        manifest = json.loads(blob(each))
        config = json.loads(blob(manifest["config"]))
        assert config["architecture"] == each["platform"]["architecture"]
        for layer, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            assert layer["mediaType"].endswith(".tar+gzip")
            assert f"sha256:{hashlib.sha256(gzip.decompress(blob(layer))).hexdigest()}" == diff


def test_made_twice_it_is_the_same(tmp_path: Path) -> None:
    assert made(tmp_path / "one") == made(tmp_path / "two")
    assert (tmp_path / "one/x.oci.tar").read_bytes() == (tmp_path / "two/x.oci.tar").read_bytes()


def test_what_is_in_an_image_is_listed_with_where_it_came_from() -> None:
    def listed(digest: str) -> str:
        return materials.document(
            image="runtime", version="1.2", architecture="arm64", digest=f"sha256:{digest}", pins=[PIN],
            libraries=[LIBRARY],
        )  # fmt: skip

    text = listed("c" * 64)
    assert text == listed("c" * 64)
    assert text != listed("d" * 64)
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.5")
    assert [each["purl"] for each in found["components"]] == [
        "pkg:deb/debian/libc6@2%3A2.36-9%2Bdeb12u14?arch=arm64&distro=debian-12",
        "pkg:pypi/some-library@1.0",
    ]
    assert [each["hashes"][0]["content"] for each in found["components"]] == ["a" * 64, "b" * 64]
    assert found["metadata"]["component"]["hashes"][0]["content"] == "c" * 64
    (depends,) = found["dependencies"]
    assert depends["dependsOn"] == [each["bom-ref"] for each in found["components"]]


def test_what_pip_installed_is_read_from_its_report(tmp_path: Path) -> None:
    item = {
        "metadata": {"name": "a", "version": "1", "license_expression": "MIT"},
        "download_info": {"archive_info": {"hashes": {"sha256": "e" * 64}}},
    }
    (tmp_path / "report").write_text(json.dumps({"install": [item]}))
    assert materials.installed(tmp_path / "report") == (materials.Library("a", "1", "e" * 64, "MIT"),)


def test_both_architectures_are_pinned_with_the_same_packages() -> None:
    pinned = {each.name: packages.locked(each) for each in architectures.ALL}
    names = {name: [pin.name for pin in pins] for name, pins in pinned.items()}
    assert names["amd64"] == names["arm64"]
    assert set(spec.BASE_PACKAGES) <= set(names["arm64"])
    for pin in (*pinned["amd64"], *pinned["arm64"]):
        assert len(bytes.fromhex(pin.sha256)) == 32
        assert packages.Pin.read(pin.line()) == pin


def test_an_architecture_without_packages_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(f"# nothing\n{PIN.line()}\n")
    assert packages.locked(architectures.ARM64, tmp_path / "lock") == (PIN,)
    with pytest.raises(packages.PackagesError, match=r"no package for amd64: python -m deploy\.release lock"):
        packages.locked(architectures.AMD64, tmp_path / "lock")


def test_a_package_that_was_changed_in_the_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"libc6-{PIN.sha256}.deb").write_bytes(b"something else")
    with pytest.raises(packages.PackagesError, match="was changed after it was fetched: delete it"):
        packages.unpack([PIN], architectures.ARM64, tmp_path, tmp_path / "root")


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    private, public = tmp_path / "key.pem", tmp_path / "key.pub"
    subprocess.run(("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(private)), check=True)
    private.chmod(0o600)
    subprocess.run(
        ("openssl", "ec", "-in", str(private), "-pubout", "-out", str(public)), check=True, capture_output=True
    )
    return private, public


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "a.oci.tar").write_bytes(b"a")
    (folder / "digests.json").write_bytes(b"{}")
    signing.write_sums(folder)
    return folder


def test_a_signed_release_is_verified_also_by_openssl_and_sha256sum(
    release: Path, keys: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    private, public = map(str, keys)
    assert main(["sign", str(release), "--key", private]) == 0
    assert main(["verify", str(release), "--key", public]) == 0
    assert "2 files are as they were signed" in capsys.readouterr().out
    (tmp_path / "raw").write_bytes(base64.b64decode((release / signing.SIGNATURE).read_bytes()))
    command = ("openssl", "dgst", "-sha256", "-verify", public, "-signature", str(tmp_path / "raw"))
    subprocess.run((*command, str(release / signing.SUMS)), check=True, capture_output=True)
    subprocess.run(("sha256sum", "--check", "--strict", signing.SUMS), cwd=release, check=True, capture_output=True)


@pytest.mark.parametrize("what", ["changed", "added", "taken", "sums", "signature", "another key"])
def test_a_release_that_is_not_what_was_signed_is_refused(
    release: Path, keys: tuple[Path, Path], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = map(str, keys)
    signing.sign(release, private)
    match what:
        case "changed":
            (release / "a.oci.tar").write_bytes(b"b")
        case "added":
            (release / "more.tar").write_bytes(b"b")
        case "taken":
            (release / "a.oci.tar").unlink()
        case "sums":
            (release / "a.oci.tar").write_bytes(b"b")
            (release / signing.SUMS).unlink()
            sums = "".join(
                f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in release.glob("[ad]*")
            )
            (release / signing.SUMS).write_text(sums)
        case "signature":
            (release / signing.SIGNATURE).unlink()
        case _:
            other = tmp_path / "other.pem"
            generate = ("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(other))
            subprocess.run(generate, check=True)
            subprocess.run(
                ("openssl", "ec", "-in", str(other), "-pubout", "-out", public), check=True, capture_output=True
            )
    assert main(["verify", str(release), "--key", public]) == 1
    said = capsys.readouterr().err
    culprit = {"changed": "a.oci.tar", "added": "more.tar", "taken": "a.oci.tar", "signature": "is no signature"}
    assert culprit.get(what, "openssl dgst failed") in said


def test_what_cannot_sign_is_refused_with_the_remedy(
    release: Path, keys: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys[0].chmod(0o644)
    assert main(["sign", str(release), "--key", str(keys[0])]) == 1
    assert "chmod 600" in capsys.readouterr().err
    assert main(["sign", str(release), "--key", "nowhere.pem"]) == 1
    assert "nowhere.pem is no file: give --key a private key in PEM" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "")
    assert main(["sign", str(release), "--key", "awskms:///alias/release"]) == 1
    assert "cosign is missing" in capsys.readouterr().err
    assert not (release / signing.SIGNATURE).exists()
    (release / "a.oci.tar").write_bytes(b"b")
    assert main(["sign", str(release), "--key", str(keys[0])]) == 1
    assert "not as SHA256SUMS says: a.oci.tar" in capsys.readouterr().err


def test_a_key_that_never_leaves_its_keeper_signs_by_cosign(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for the program, which this machine need not have: what it is asked, and that its file is kept."""
    program = tmp_path / "bin" / "cosign"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" > "$0.asked"\nfor last; do :; done\nprintf c2ln > "$7"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    signing.sign(release, "awskms:///alias/release")
    assert (release / signing.SIGNATURE).read_bytes() == b"c2ln"
    asked = program.with_name("cosign.asked").read_text().split()
    assert asked[:2] == ["sign-blob", "--yes"]
    assert asked[-1] == str(release / signing.SUMS)
    assert "--key awskms:///alias/release" in " ".join(asked)


def test_wheels_are_asked_for_by_the_architecture_they_run_on() -> None:
    options = architectures.ARM64.wheel_options
    assert "manylinux_2_17_aarch64" in options
    assert "manylinux_2_36_aarch64" in options
    assert "manylinux_2_37_aarch64" not in options, "bookworm's glibc is 2.36"
    assert not [each for each in options if "x86_64" in each]
