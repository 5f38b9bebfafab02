"""The image of the demo's client: kafka-python, which nobody here wrote, and the short program that uses it."""

import tempfile
from pathlib import Path

from deploy.images import layers, oci, spec

REFERENCE = "localhost/quorate/demo-client:dev"
PROGRAM = "/opt/demo/client.py"


def write(cache: Path, base: oci.Layer, output: Path) -> str:
    here = Path(__file__).parent
    libraries = layers.libraries(cache, here / "demo-client.lock", ())
    program = oci.Entry(PROGRAM.lstrip("/"), 0o644, source=here.parent / "demo" / "client.py")
    config = oci.Config(
        user=spec.USER,
        entrypoint=(spec.INTERPRETER, PROGRAM),
        environment=(f"PYTHONPATH={spec.LIBRARY}", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "LANG=C.UTF-8"),
    )
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        code = oci.write_layer(Path(folder) / "code.layer", [program])
        return oci.write_image(output, REFERENCE, (base, libraries, code), config)
