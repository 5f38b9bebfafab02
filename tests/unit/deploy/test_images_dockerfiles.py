"""The Dockerfiles for users and the builder without Docker make the same images: paths, user, entrypoint,
environment.
"""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.images import apache_kafka, base, build, layers, programs, spec

pytestmark = pytest.mark.unit

FOLDER = Path(build.__file__).parent
ROOT = build.ROOT


@dataclass(frozen=True)
class Dockerfile:
    """The instructions of the build stage and of the last stage, continued lines joined."""

    stages: tuple[tuple[tuple[str, str], ...], ...]

    @classmethod
    def read(cls, name: str) -> "Dockerfile":
        text = re.sub(r"\\\n\s*", " ", (FOLDER / f"Dockerfile.{name}").read_text())
        stages: list[list[tuple[str, str]]] = []
        for line in text.splitlines():
            if line and not line.startswith("#"):
                instruction, _, rest = line.partition(" ")
                if instruction == "FROM":
                    stages.append([])
                elif stages:
                    stages[-1].append((instruction, rest.strip()))
        return cls(tuple(map(tuple, stages)))

    def all(self, instruction: str, stage: int = -1) -> list[str]:
        return [rest for name, rest in self.stages[stage] if name == instruction]


EACH = pytest.mark.parametrize("image", spec.ALL, ids=lambda image: image.name)


@EACH
def test_they_run_alike(image: spec.Image) -> None:
    file = Dockerfile.read(image.name)
    config = build.config(image)
    assert file.all("USER") == [config.user]
    assert [tuple(json.loads(rest)) for rest in file.all("ENTRYPOINT")] == [config.entrypoint]
    assert [tuple(json.loads(rest)) for rest in file.all("CMD")] == ([config.arguments] if config.arguments else [])
    assert tuple(shlex.split(file.all("ENV")[0])) == config.environment
    assert file.all("WORKDIR") == ([config.working_directory] if config.working_directory else [])
    labels = tuple(tuple(label.split("=", 1)) for label in shlex.split(file.all("LABEL")[0]))
    assert labels == config.labels


@EACH
def test_they_hold_the_same_packages_below_the_same_folder(image: spec.Image) -> None:
    copied = dict(rest.split() for rest in Dockerfile.read(image.name).all("COPY", 0) if spec.LIBRARY in rest)
    assert copied == {folder: f"{spec.LIBRARY}/{Path(folder).name}" for folder in image.packages}


@EACH
def test_they_install_the_same_lock_and_leave_out_the_same(image: spec.Image) -> None:
    file = Dockerfile.read(image.name)
    (install,) = [rest for rest in file.all("RUN", 0) if "pip install" in rest]
    assert f"--require-hashes --target {spec.LIBRARY} -r {image.lock}" in " ".join(install.split())
    assert [f"--no-binary={name}" for name in image.from_source] == re.findall(r"--no-binary=\S+", install)
    left_out = set(install.partition("rm -rf ")[2].split())
    assert left_out == {f"{spec.LIBRARY}/{pattern}" for pattern in image.unused}


@EACH
def test_they_take_the_same_packages_of_debian(image: spec.Image) -> None:
    file = Dockerfile.read(image.name)
    (install,) = [rest for rest in file.all("RUN") if "apt-get" in rest]
    packages = install.partition("--no-install-recommends")[2].partition("&&")[0].split()
    assert sorted(packages) == sorted((*spec.BASE_PACKAGES, *filter(None, [image.java_package])))
    assert spec.SUITE in (FOLDER / f"Dockerfile.{image.name}").read_text()
    assert "--uid 65532" in install


@EACH
def test_programs_are_written_by_the_same_code(image: spec.Image, tmp_path: Path) -> None:
    command = f"{spec.PYTHON} -m deploy.images.programs {image.name} /"
    assert command in Dockerfile.read(image.name).all("RUN", 0)
    programs.main(image.name, tmp_path)
    written = {f"/{path.relative_to(tmp_path)}": path for path in tmp_path.rglob("*") if path.is_file()}
    entries = {f"/{entry.path}": entry for entry in layers.code_entries(ROOT, image)}
    assert written.keys() <= entries.keys()
    for path, file in written.items():
        assert (file.read_bytes(), file.stat().st_mode & 0o777) == (entries[path].content, entries[path].mode)


@EACH
def test_what_is_copied_from_the_build_stage_covers_every_program(image: spec.Image) -> None:
    copied = [rest.split()[-1] for rest in Dockerfile.read(image.name).all("COPY") if rest.startswith("--from=build")]
    for path in (*programs.files(image), spec.LIBRARY):
        assert any(path.startswith(f"{folder}/") for folder in copied), path


def test_a_program_starts_its_module_with_its_first_arguments(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        "import sys\ndef main():\n    print(sys.argv[1:], sys.flags.no_site)\n    return 3\n"
    )
    text = spec.Program("/x", "module", arguments=("kafka-storage",)).text().replace(spec.LIBRARY, str(tmp_path))
    script = tmp_path / "kafka-storage.sh"
    script.write_text(text.replace(spec.INTERPRETER, sys.executable))
    script.chmod(0o755)
    done = subprocess.run([script, "info", "-c", "f"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("['kafka-storage', 'info', '-c', 'f'] 1\n", 3)


def test_the_runtime_is_laid_out_as_apache_kafka() -> None:
    ours = {path for path in programs.files(spec.RUNTIME) if path.endswith(".sh")}
    theirs = {f"/{entry.path}" for entry in apache_kafka.entries(FOLDER) if entry.path.endswith(".sh")}
    assert ours
    assert ours <= theirs


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("./usr/bin/python3.11", True),
        ("./usr/bin/openssl", False),
        ("./usr/lib/python3.11/ssl.py", True),
        ("./usr/lib/python3.11/pydoc_data/topics.py", False),
        ("./usr/share/ca-certificates/mozilla/ISRG_Root_X1.crt", True),
        ("./lib64/ld-linux-x86-64.so.2", True),
        ("./bin/tar", False),
    ],
)
def test_the_base_keeps_python_and_drops_shells_and_tools(path: str, kept: bool) -> None:
    assert base.is_wanted(path) is kept


def test_a_program_that_is_still_importing_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """143 is our own handler; -15 would be the default action, which process 1 of a container does not have."""
    (tmp_path / "slow.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    script = tmp_path / "program"
    script.write_text(
        spec.Program("/x", "slow").text().replace(spec.LIBRARY, str(tmp_path)).replace(spec.INTERPRETER, sys.executable)
    )
    script.chmod(0o755)
    with subprocess.Popen([script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.terminate()
        assert process.wait(30) == 143
