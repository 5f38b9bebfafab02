"""Files, an environment and properties files that name values in them: the questions about config providers that Java
and ours are both asked.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

PACKAGE: Final = "org.apache.kafka.common.config.provider"
CLASSES: Final = {"file": "FileConfigProvider", "dir": "DirectoryConfigProvider", "env": "EnvVarConfigProvider"}
ENVIRONMENT: Final = {"SHOWN": "from outside", "ALSO": "${env:SHOWN}", "SECRET": "x", "EMPTY": ""}


def lines_of(*names: str, **params: str) -> list[str]:
    """`config.providers` and their classes; a parameter of provider x is `x_allowed_paths=...`."""
    found = [f"config.providers={','.join(names)}"]
    found += [f"config.providers.{name}.class={PACKAGE}.{CLASSES[name]}" for name in names]
    for given, value in params.items():
        name, _, param = given.partition("_")
        found.append(f"config.providers.{name}.param.{param.replace('_', '.')}={value}")
    return found


def make_files(root: Path) -> None:
    inside, beside = root / "in", root / "beside"
    (inside / "sub").mkdir(parents=True)
    beside.mkdir()
    (inside / "f.properties").write_text("a=1\nb=two words \nc:3\nempty=\nuni=\\u00e9\nref=${env:SHOWN}\n")
    (inside / "one").write_text("line\n")
    (inside / ".hidden").write_text("x")
    (inside / "within").symlink_to(inside / "one")
    (beside / "f.properties").write_text("a=9\n")
    (root / "link").symlink_to(inside)


def values(root: Path) -> list[str]:
    """What may stand after `k=`, each alone in a file: an error ends everything."""
    inside = f"{root}/in"
    file = f"${{file:{inside}/f.properties:"
    return [
        *(f"{file}{key}}}" for key in ("a", "b", "c", "empty", "uni", "ref", "none", "a:b", "")),
        f"x{file}a}}-${{dir:{inside}:one}}y${{env:SHOWN}}",
        f"$${file}a}}",
        *(
            f"${{dir:{inside}:{key}}}"
            for key in ("one", ".hidden", "within", "sub", "none", "../beside/f.properties", "")
        ),
        *(f"${{dir:{path}:one}}" for path in (f"{root}/none", f"{inside}/one", f"{root}/link", f"{inside}/sub/..")),
        *(f"${{file:{path}:a}}" for path in (f"{root}/none", inside, f"{root}/link/f.properties", "")),
        f"${{file:{inside}/../beside/f.properties:a}}",
        *(f"${{env:{key}}}" for key in ("SHOWN", "ALSO", "EMPTY", "NONE", ":SHOWN", "x:SHOWN", "")),
        *(
            "${nobody:x:y}",
            "${}",
            "${:}",
            "${file}",
            "${file:a}",
            "${ env:SHOWN}",
            "${file:${env:SHOWN}:a}",
            "$",
            "${env:",
        ),
    ]


def questions(root: Path, rng: Random) -> list[list[str]]:
    """Lines of properties files."""
    everything = lines_of("file", "dir", "env")
    found = [[*everything, f"k={value}"] for value in values(root)]
    for allowed in ("in", "beside", "in/f.properties", "in/../beside", "link", "i", "in/sub", "none"):
        path = f"{root}/{allowed}"
        rest = rng.sample(values(root), 12)
        found += [
            [*lines_of("file", "dir", "env", file_allowed_paths=path, dir_allowed_paths=path), f"k={value}"]
            for value in rest
        ]
    paths = (f"{root}/in", f"{root}/beside")
    for many in (",".join(paths), ",".join(paths) + ",", f"{paths[0]},,{paths[1]}", "in", f"{paths[0]},in", "/", "//"):
        for path in paths:
            found.append([*lines_of("file", file_allowed_paths=many), f"k=${{file:{path}/f.properties:a}}"])
    for pattern in (".*", "SHOW", "SHOWN|ALSO", "S.*", "", "("):
        found.append([*lines_of("env", env_allowlist_pattern=pattern), "k=${env:SHOWN}${env:SECRET}${env:NONE}"])
    found.append([*everything, "k=${env:SHOWN}", "l=${env:ALSO}", "m=${env:NONE}", "${env:SHOWN}=name"])
    found.append([*lines_of("env", "file", file_allowed_paths="${env:SHOWN}"), "k=${env:SHOWN}"])
    found.append(["k=${env:SHOWN}"])
    return found
