"""Writes an image's programs and configuration below a folder: the step that the Dockerfiles share with the builder."""

import sys
import tomllib
from pathlib import Path

from deploy.images import spec


def files(image: spec.Image) -> dict[str, tuple[int, bytes]]:
    """Path in the image -> mode and content."""
    here = Path(__file__).parent
    programs = {program.path: (0o755, program.text().encode()) for program in image.programs}
    configuration = {
        f"{spec.KAFKA_HOME}/config/{name}": (0o644, (here / name).read_bytes()) for name in image.configuration
    }
    return {**programs, **configuration, **_distribution(here.parents[1] / "pyproject.toml")}


def _distribution(project_file: Path) -> dict[str, tuple[int, bytes]]:
    """What `importlib.metadata` reads, so that `--version` knows itself."""
    project = tomllib.loads(project_file.read_text())["project"]
    name, version = project["name"], project["version"]
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    return {f"{spec.LIBRARY}/{name}-{version}.dist-info/METADATA": (0o644, metadata)}


def main(name: str, root: Path) -> None:
    image = next(image for image in spec.ALL if image.name == name)
    for path, (mode, content) in files(image).items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
