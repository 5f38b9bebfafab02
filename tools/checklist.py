"""Which promises of `tests/checklist.txt` no test shows.

    python -m tools.checklist [--report] [--missing]

A test names the id of what it shows in a docstring or a comment; `RFT-01..04` and `RFT-01, 02, 03` name several. What
is meant to be different has its id in docs/deviations.md. Exit code 1 if an id of a REQUIRED group is in neither; a
group that is new is only counted.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
REQUIRED: Final = (
    "SIM", "INV", "RFT", "PV", "FET", "SNP", "RCF",  # the quorum
    "QC", "CLU", "REP", "ELR", "CFG", "FEA", "IMG", "API", "STO", "INT",  # the controller
    "ISR", "DIR", "FLW", "PRD", "FCH", "QRY", "LOG", "CLN", "GRP", "OFF", "CGP", "TXN", "QUO",  # the broker
    "SSL", "SAS", "TOK", "ACL", "SEC", "OPS", "ATK",  # security
)  # fmt: skip
SUFFIXES: Final = {".py", ".txt"}
_NAMED: Final = re.compile(r"\b([A-Z]{2,3})-(\d{2})\b((?:\s*(?:\.\.|,|and|to|-)\s*\d{2}\b)*)")
_EXPLICIT: Final = re.compile(r"\b[A-Z]{2,3}-\d{2}\b")
_MORE: Final = re.compile(r"(\.\.|,|and|to|-)\s*(\d{2})")


def promises(text: str) -> dict[str, str]:
    """Id to words, in the order of the file."""
    lines = (line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: words for name, words in lines}  # noqa: C416  a dict() of lists is no dict of pairs


def ids_in(text: str) -> Iterator[str]:
    """`RFT-01`, and what follows it in short: `RFT-01..04`, `RFT-01, 02`."""
    for group, first, rest in _NAMED.findall(text):
        yield f"{group}-{first}"
        last = int(first)
        for between, number in _MORE.findall(rest):
            start = last + 1 if between in {"..", "to", "-"} else int(number)
            yield from (f"{group}-{n:02d}" for n in range(start, int(number) + 1))
            last = int(number)


def files_naming(root: Path, ids: Callable[[str], Iterable[str]]) -> dict[str, list[str]]:
    """The files below `tests` by the ids that they name."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in SUFFIXES and path.name != "checklist.txt" and "golden" not in path.parts and path.is_file():
            for name in set(ids(path.read_text(errors="replace"))):
                found.setdefault(name, []).append(str(path.relative_to(root)))
    return found


def misprints(promised: Mapping[str, str], root: Path) -> dict[str, list[str]]:
    """Ids of a known group that the checklist does not have, and where."""
    groups = {name.partition("-")[0] for name in promised}
    named = files_naming(root, _EXPLICIT.findall)
    return {name: files for name, files in named.items() if name.partition("-")[0] in groups and name not in promised}


def report(promised: Mapping[str, str], shown: Mapping[str, list[str]], excused: set[str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name in promised:
        groups.setdefault(name.partition("-")[0], []).append(name)
    lines = []
    for group, names in groups.items():
        by_test = [name for name in names if name in shown]
        by_word = [name for name in names if name not in shown and name in excused]
        must = "" if group in REQUIRED else "   (not required)"
        lines.append(
            f"{group:4} {len(by_test):3} of {len(names):3} shown by tests, {len(by_word)} by a deviation{must}"
        )
    return lines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--report", action="store_true", help="print the coverage, never fail")
    parser.add_argument("--missing", action="store_true", help="list what is missing in the other groups, too")
    options = parser.parse_args(arguments)
    promised = promises((ROOT / "tests" / "checklist.txt").read_text())
    shown = files_naming(ROOT, ids_in)
    excused = set(ids_in((ROOT / "docs" / "deviations.md").read_text()))
    missing = [name for name in promised if name not in shown and name not in excused]
    required = [name for name in missing if name.partition("-")[0] in REQUIRED]
    print("\n".join(report(promised, shown, excused)))
    for name in missing if options.missing else required:
        print(f"no test names {name}: {promised[name]}")
    wrong = misprints(promised, ROOT)
    for name, files in wrong.items():
        print(f"{', '.join(files)}: there is no {name}")
    return 0 if options.report else int(bool(required or wrong))


if __name__ == "__main__":
    sys.exit(main())
