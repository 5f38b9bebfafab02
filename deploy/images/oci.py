"""Writes OCI image archives from folders and tar files, without Docker, a registry or root's help.

The same inputs give the same bytes: entries are sorted, times and owners are fixed, layers are not compressed (they
are imported on the same machine, where compressing would cost more than it saves). `ctr images import` takes an image's
name from its annotation.
"""

import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MEDIA = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True)
class Layer:
    """An uncompressed layer on disk, named by the digest of its bytes."""

    path: Path
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Config:
    """What an image says about how it runs."""

    user: str = ""
    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    working_directory: str = ""
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a layer: a folder, a file (from the disk or from memory) or a symbolic link."""

    path: str
    mode: int = 0o755
    source: Path | None = None
    content: bytes | None = None
    link: str | None = None


def tree(folder: Path, prefix: str) -> Iterable[Entry]:
    """Every file below a folder, under the prefix; executables stay executable, everything becomes readable."""
    yield Entry(prefix)
    for parent, folders, files in os.walk(folder):
        folders.sort()
        inside = f"{prefix}/{Path(parent).relative_to(folder)}".removesuffix("/.")
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in folders:
            if name not in links:
                yield Entry(f"{inside}/{name}")
        for name in sorted([*files, *links]):
            yield _file(Path(parent) / name, f"{inside}/{name}")


def _file(source: Path, path: str) -> Entry:
    if source.is_symlink():
        return Entry(path, link=str(source.readlink()))
    executable = source.stat().st_mode & stat.S_IXUSR
    return Entry(path, 0o755 if executable else 0o644, source=source)


def write_layer(path: Path, entries: Iterable[Entry]) -> Layer:
    """Parents that no entry names are made by whoever unpacks the layer; name them where their mode matters."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for entry in sorted(entries, key=lambda entry: entry.path):
            _add(tar, entry)
    return existing_layer(path)


def _add(tar: tarfile.TarFile, entry: Entry) -> None:
    info = tarfile.TarInfo(entry.path.lstrip("/"))
    info.mode = entry.mode
    if entry.link is not None:
        info.type, info.linkname = tarfile.SYMTYPE, entry.link
        tar.addfile(info)
    elif entry.content is not None:
        info.size = len(entry.content)
        tar.addfile(info, io.BytesIO(entry.content))
    elif entry.source is not None:
        info.size = entry.source.stat().st_size
        with entry.source.open("rb") as file:
            tar.addfile(info, file)
    else:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)


def existing_layer(path: Path) -> Layer:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Layer(path, digest, path.stat().st_size)


def write_image(path: Path, reference: str, layers: tuple[Layer, ...], config: Config) -> str:
    """Writes the archive under the name `reference`; returns the digest of its manifest."""
    small: dict[str, bytes] = {}

    def add(kind: str, document: dict[str, object]) -> dict[str, object]:
        data = json.dumps(document, sort_keys=True).encode()
        digest = hashlib.sha256(data).hexdigest()
        small[digest] = data
        return {"mediaType": f"{MEDIA}.{kind}.v1+json", "digest": f"sha256:{digest}", "size": len(data)}

    configuration = add("config", config_document(layers, config))
    layer_documents = [
        {"mediaType": f"{MEDIA}.layer.v1.tar", "digest": f"sha256:{layer.digest}", "size": layer.size}
        for layer in layers
    ]
    manifest = add("manifest", {
        "schemaVersion": 2, "mediaType": f"{MEDIA}.manifest.v1+json", "config": configuration,
        "layers": layer_documents,
    })  # fmt: skip
    named = {
        **manifest,
        "annotations": {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference},
        "platform": {"architecture": "amd64", "os": "linux"},
    }
    index = json.dumps({"schemaVersion": 2, "manifests": [named]}, sort_keys=True).encode()
    write_archive(path, {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index}, small, layers)
    return str(manifest["digest"])


def config_document(layers: tuple[Layer, ...], config: Config, architecture: str = "amd64") -> dict[str, object]:
    run: dict[str, object] = {
        "User": config.user,
        "Entrypoint": list(config.entrypoint),
        "Cmd": list(config.arguments),
        "Env": list(config.environment),
        "WorkingDir": config.working_directory,
        "Labels": dict(config.labels),
    }
    return {
        "architecture": architecture,
        "os": "linux",
        "config": {name: value for name, value in run.items() if value},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in layers]},
        "history": [{"created_by": "quorate deploy/images"} for _ in layers],
    }


def write_archive(path: Path, files: dict[str, bytes], blobs: dict[str, bytes], layers: tuple[Layer, ...]) -> None:
    """An OCI layout as one tar: its small files, its blobs in memory, and those on the disk."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in {**files, **{f"blobs/sha256/{digest}": data for digest, data in blobs.items()}}.items():
            _add(tar, Entry(name, 0o644, content=data))
        for layer in dict.fromkeys(layers):
            _add(tar, Entry(f"blobs/sha256/{layer.digest}", 0o644, source=layer.path))
    part.rename(path)
