"""One image for several architectures as an OCI layout: compressed layers, a manifest each, an index over them.

Nothing of it depends on when or where it was built: gzip's header has no time and no name. Another release of zlib may
compress otherwise, so who builds again to compare has the same Python and the same Debian; layers' uncompressed
digests (`diff_ids`) do not depend on that either.
"""

import gzip
import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from deploy.images import oci
from deploy.release.architectures import Architecture

_LEVEL = 6
_LAYOUT = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}


@dataclass(frozen=True, slots=True)
class Variant:
    """The image of one architecture."""

    architecture: Architecture
    layers: tuple[oci.Layer, ...]
    """Uncompressed."""
    config: oci.Config


def compressed(layer: oci.Layer, folder: Path) -> oci.Layer:
    """Once in a folder: images share the layers below."""
    path = folder / f"{layer.digest}.gz"
    if path.exists():
        return oci.existing_layer(path)
    with (
        layer.path.open("rb") as source,
        path.open("wb") as file,
        gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as target,
    ):
        shutil.copyfileobj(source, target, 1 << 20)
    return oci.existing_layer(path)


def write(path: Path, reference: str, variants: tuple[Variant, ...], work: Path) -> dict[str, str]:
    """Writes the archive; returns the digests of the index (`index`) and of each architecture's manifest."""
    blobs: dict[str, bytes] = {}
    layers: list[oci.Layer] = []

    def add(media: str, document: dict[str, object]) -> dict[str, object]:
        data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}

    manifests: list[dict[str, object]] = []
    for variant in variants:
        name = variant.architecture.name
        packed = [compressed(layer, work) for layer in variant.layers]
        layers += packed
        config = add(f"{oci.MEDIA}.config.v1+json", oci.config_document(variant.layers, variant.config, name))
        described = [
            {"mediaType": f"{oci.MEDIA}.layer.v1.tar+gzip", "digest": f"sha256:{each.digest}", "size": each.size}
            for each in packed
        ]
        media = f"{oci.MEDIA}.manifest.v1+json"
        document = {"schemaVersion": 2, "mediaType": media, "config": config, "layers": described}
        manifests.append({**add(media, document), "platform": {"architecture": name, "os": "linux"}})
    media = f"{oci.MEDIA}.index.v1+json"
    index = add(media, {"schemaVersion": 2, "mediaType": media, "manifests": manifests})
    named = {
        **index,
        "annotations": {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference},
    }
    top = json.dumps({"schemaVersion": 2, "mediaType": media, "manifests": [named]}, sort_keys=True).encode()
    oci.write_archive(path, {**_LAYOUT, "index.json": top}, blobs, tuple(layers))
    named_digests = {
        each.architecture.name: str(made["digest"]) for each, made in zip(variants, manifests, strict=True)
    }
    return {"index": str(index["digest"]), **named_digests}
