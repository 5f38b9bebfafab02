"""The list of materials of one architecture's image, in CycloneDX 1.5: Debian's packages, Python's libraries, our code.

It says what is in the image with the hash of the file that it came from, and names the image by its digest. No time and
no chance are in it: built twice, it is the same.
"""

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deploy.release.packages import Pin


@dataclass(frozen=True, slots=True)
class Library:
    """A Python library as pip installed it: `sha256` is its wheel's."""

    name: str
    version: str
    sha256: str
    license: str = ""


def installed(report: Path) -> tuple[Library, ...]:
    """Of pip's own report (`pip install --report`)."""
    return tuple(sorted(map(_library, json.loads(report.read_text())["install"]), key=lambda each: each.name))


def _library(item: dict[str, Any]) -> Library:
    metadata, digest = item["metadata"], item["download_info"]["archive_info"]["hashes"]["sha256"]
    return Library(metadata["name"], metadata["version"], digest, metadata.get("license_expression") or "")


def document(
    *, image: str, version: str, architecture: str, digest: str, pins: Iterable[Pin], libraries: Iterable[Library]
) -> str:
    """`digest`: sha256:… of the architecture's manifest."""
    purl = f"pkg:oci/{image}@{quote(digest, safe='')}?arch={architecture}"
    root = {
        "type": "container",
        "bom-ref": purl,
        "name": f"quorate/{image}",
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}],
    }
    parts = [*map(_debian, pins), *map(_python, libraries)]
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, purl)}",
            "version": 1,
            "metadata": {"component": root},
            "components": parts,
            "dependencies": [{"ref": purl, "dependsOn": [part["bom-ref"] for part in parts]}],
        },
        indent=1,
        sort_keys=True,
    )


def _debian(pin: Pin) -> dict[str, Any]:
    purl = f"pkg:deb/debian/{quote(pin.name)}@{quote(pin.version, safe='')}?arch={pin.architecture}&distro=debian-12"
    return _component(pin.name, pin.version, purl, pin.sha256)


def _python(library: Library) -> dict[str, Any]:
    name = library.name.lower().replace("_", "-")
    found = _component(library.name, library.version, f"pkg:pypi/{quote(name)}@{library.version}", library.sha256)
    return {**found, "licenses": [{"expression": library.license}]} if library.license else found


def _component(name: str, version: str, purl: str, sha256: str) -> dict[str, Any]:
    hashes = [{"alg": "SHA-256", "content": sha256}]
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "hashes": hashes}
