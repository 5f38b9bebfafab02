"""Builds images without Docker: archives that `ctr images import` or `skopeo copy oci-archive:…` understands."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.images import apache_kafka, base, bytecode, demo_client, java, layers, oci, spark, spec

ROOT = Path(__file__).resolve().parents[2]
NAMES = (*(image.name for image in spec.ALL), "demo-client", "apache-kafka")
"""What tests and demonstrations need; the one of an earlier Apache Kafka only where it is asked for."""
KNOWN = (*NAMES, *(name for name in apache_kafka.VERSIONS if name not in NAMES))
ERRORS = (base.BaseError, layers.LayerError, java.JavaError, apache_kafka.ApacheKafkaError)


def build(name: str, folder: Path | None = None) -> Path:
    """Builds one image and returns its archive."""
    base.check_python()
    cache = bytecode.cache_home()
    output = (folder or cache) / f"{name}.tar"
    output.parent.mkdir(parents=True, exist_ok=True)
    below = base.base_layer(cache)
    if name in apache_kafka.VERSIONS:
        apache_kafka.write(name, cache, below, output)
    elif name == "demo-client":
        demo_client.write(cache, below, output)
    else:
        _write(next(image for image in spec.ALL if image.name == name), cache, below, output)
    return output


def reference(name: str) -> str:
    named = {image.name: image.reference for image in spec.ALL}
    if name in apache_kafka.VERSIONS:
        return apache_kafka.reference(name)
    return {**named, "demo-client": demo_client.REFERENCE}[name]


def _write(image: spec.Image, cache: Path, below: oci.Layer, output: Path) -> None:
    java_layers = spark.layers(cache) if image.java_package else ()
    libraries = layers.libraries(cache, ROOT / image.lock, image.unused, image.from_source)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        code = layers.code(Path(folder), ROOT, image)
        oci.write_image(output, image.reference, (below, *java_layers, libraries, code), config(image))


def config(image: spec.Image) -> oci.Config:
    return oci.Config(
        user=spec.USER,
        entrypoint=image.entrypoint,
        arguments=image.arguments,
        environment=tuple(f"{name}={value}" for name, value in image.environment),
        working_directory=image.working_directory,
        labels=(("org.opencontainers.image.title", image.title), ("org.opencontainers.image.licenses", "Apache-2.0")),
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="images", description="Builds container images without Docker.")
    parser.add_argument("names", nargs="*", choices=[*KNOWN, []], metavar="IMAGE", help=f"of {', '.join(KNOWN)}")
    parser.add_argument("--output", type=Path, help="folder for the archives (the cache)")
    options = parser.parse_args(arguments)
    for name in options.names or [image.name for image in spec.IMAGES]:
        began = time.monotonic()
        try:
            archive = build(name, options.output)
        except ERRORS as error:
            print(f"images: {error}", file=sys.stderr)
            return 1
        size = archive.stat().st_size / 1e6
        print(f"{reference(name):32} {size:6.1f} MB  {time.monotonic() - began:5.1f} s  {archive}", flush=True)
    return 0
