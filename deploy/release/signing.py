"""Sums of all files of a release, and a signature over the sums, wherever the key is.

A key in a file signs by openssl; a key that never leaves its keeper (`awskms://`, `gcpkms://`, `azurekms://`,
`hashivault://`, `k8s://`, `pkcs11:`) signs by cosign. Either signature is plain ECDSA or RSA over SHA-256, in base64:
`openssl dgst -verify` and `cosign verify-blob` both check it.
"""

import base64
import binascii
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
_KEPT_ELSEWHERE = ("awskms:", "gcpkms:", "azurekms:", "hashivault:", "k8s:", "pkcs11:")


class SigningError(Exception):
    """A release cannot be signed, or is not what was signed."""


def write_sums(folder: Path) -> None:
    lines = [f"{_digest(path)}  {path.name}\n" for path in _files(folder)]
    if not lines:
        raise SigningError(f"{folder} holds no release: python -m deploy.release build --output {folder}")
    (folder / SUMS).write_text("".join(lines))
    (folder / SIGNATURE).unlink(missing_ok=True)


def sign(folder: Path, key: str) -> None:
    check_sums(folder)
    if key.startswith(_KEPT_ELSEWHERE):
        if shutil.which("cosign") is None:
            raise SigningError(f"cosign is missing: it signs with {key}, or give --key a file")
        _run("cosign", "sign-blob", "--yes", "--tlog-upload=false", "--key", key, "--output-signature",
             str(folder / SIGNATURE), str(folder / SUMS))  # fmt: skip
        return
    file = Path(key)
    if not file.is_file():
        raise SigningError(f"{key} is no file: give --key a private key in PEM, or one of {', '.join(_KEPT_ELSEWHERE)}")
    if file.stat().st_mode & 0o077:
        raise SigningError(f"chmod 600 {key}: others than you can read it")
    signature = _run("openssl", "dgst", "-sha256", "-sign", key, str(folder / SUMS))
    (folder / SIGNATURE).write_bytes(base64.b64encode(signature) + b"\n")


def verify(folder: Path, public_key: str) -> int:
    """Raises unless the sums are signed with that key's other half and all files are as they say; returns how many."""
    try:
        signature = base64.b64decode((folder / SIGNATURE).read_bytes(), validate=False)
    except (OSError, binascii.Error) as error:
        raise SigningError(f"{folder / SIGNATURE} is no signature: {error}") from error
    with tempfile.NamedTemporaryFile() as raw:
        raw.write(signature)
        raw.flush()
        _run("openssl", "dgst", "-sha256", "-verify", public_key, "-signature", raw.name, str(folder / SUMS))
    return check_sums(folder)


def check_sums(folder: Path) -> int:
    """Every file is listed, every listed file is as it was: how many there are."""
    try:
        lines = (line.split("  ", 1) for line in (folder / SUMS).read_text().splitlines())
        listed = {name: digest for digest, name in lines}
    except (OSError, ValueError) as error:
        raise SigningError(f"{folder / SUMS}: {error}") from error
    found = {path.name: _digest(path) for path in _files(folder)}
    if wrong := sorted(name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name)):
        raise SigningError(f"not as {SUMS} says: {', '.join(wrong)}")
    return len(found)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name not in (SUMS, SIGNATURE))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(*command: str) -> bytes:
    if shutil.which(command[0]) is None:
        raise SigningError(f"{command[0]} is missing: apt-get install {command[0]}")
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-500:]
        raise SigningError(f"{command[0]} {command[1]} failed: {said}")
    return done.stdout
