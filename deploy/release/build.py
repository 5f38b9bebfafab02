"""A release's folder: for each image one archive for all architectures and a list of materials for each, the digests,
and the sums.
"""

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

from deploy.images import base, bytecode, layers, oci, spec
from deploy.images.build import ROOT, config
from deploy.release import archive, materials, packages, signing
from deploy.release.architectures import Architecture

DIGESTS = "digests.json"


def version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def release(
    images: Iterable[spec.Image], architectures: tuple[Architecture, ...], output: Path, work: Path
) -> dict[str, dict[str, str]]:
    """`work` is a folder that goes afterwards. Returns what DIGESTS says."""
    base.check_python()
    output.mkdir(parents=True, exist_ok=True)
    below = {each.name: _base(each, work) for each in architectures}
    digests: dict[str, dict[str, str]] = {}
    for image in images:
        digests[image.name] = _image(image, architectures, below, output, work)
    (output / DIGESTS).write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")
    signing.write_sums(output)
    return digests


def _base(architecture: Architecture, work: Path) -> oci.Layer:
    root = work / f"root-{architecture.name}"
    root.mkdir()
    cache = bytecode.cache_home().parent / "release"
    packages.unpack(packages.locked(architecture), architecture, cache, root)
    return oci.write_layer(work / f"base-{architecture.name}.layer", base.entries(root))


def _image(
    image: spec.Image, architectures: tuple[Architecture, ...], below: dict[str, oci.Layer], output: Path, work: Path
) -> dict[str, str]:
    code = layers.code(work, ROOT, image)
    variants: list[archive.Variant] = []
    used: dict[str, tuple[materials.Library, ...]] = {}
    for architecture in architectures:
        name = f"{image.name}-{architecture.name}"
        site, report = work / f"site-{name}", work / f"{name}.json"
        layers.install(ROOT / image.lock, site, (*architecture.wheel_options, f"--report={report}"))
        libraries = oci.write_layer(work / f"{name}.layer", layers.library_entries(site, image.unused))
        used[architecture.name] = materials.installed(report)
        variants.append(archive.Variant(architecture, (below[architecture.name], libraries, code), config(image)))
    reference = f"quorate/{image.name}:{version()}"
    digests = archive.write(output / f"{image.name}.oci.tar", reference, tuple(variants), work)
    for architecture in architectures:
        name = architecture.name
        listed = materials.document(
            image=image.name, version=version(), architecture=name, digest=digests[name],
            pins=packages.locked(architecture), libraries=used[name],
        )  # fmt: skip
        (output / f"{image.name}-{name}.cdx.json").write_text(listed + "\n")
    return digests
