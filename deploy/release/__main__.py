"""`python -m deploy.release lock | build | sign | verify`."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.images import base, bytecode, layers, spec
from deploy.release import architectures, build, packages, signing

ERRORS = (base.BaseError, layers.LayerError, packages.PackagesError, signing.SigningError)
NAMES = {image.name: image for image in spec.IMAGES}
MACHINES = {each.name: each for each in architectures.ALL}


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(dir=bytecode.cache_home()) as folder:
            print(_do(options, Path(folder)))
    except ERRORS as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def _do(options: argparse.Namespace, work: Path) -> str:
    match options.what:
        case "lock":
            return f"{packages.LOCK}: {packages.write_lock(work)} packages"
        case "build":
            images = [NAMES[name] for name in options.images or NAMES]
            chosen = tuple(MACHINES[name] for name in options.architecture or MACHINES)
            made = build.release(images, chosen, options.output, work)
            return "\n".join(f"quorate/{name}@{digests['index']}" for name, digests in made.items())
        case "sign":
            signing.sign(options.folder, options.key)
            return f"{options.folder / signing.SIGNATURE} is written"
        case _:
            return f"{signing.verify(options.folder, options.key)} files are as they were signed"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description="Builds and signs a release.")
    verbs = parser.add_subparsers(dest="what", required=True)
    verbs.add_parser("lock", help="pin Debian's packages as they are now")
    making = verbs.add_parser("build", help="images, lists of materials, sums")
    making.add_argument("images", nargs="*", choices=[*NAMES, []], metavar="IMAGE", help=f"of {', '.join(NAMES)}")
    making.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    making.add_argument("--architecture", action="append", choices=list(MACHINES), help="all, unless given")
    for verb, help_, key in (
        ("sign", "sign the sums", "a private key in PEM, or where cosign finds one (awskms://…)"),
        ("verify", "check signature and sums", "the public key in PEM"),
    ):
        each = verbs.add_parser(verb, help=help_)
        each.add_argument("folder", type=Path)
        each.add_argument("--key", required=True, help=key)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
