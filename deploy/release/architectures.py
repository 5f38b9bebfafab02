"""What differs between the architectures that there are images for."""

from dataclasses import dataclass

_GLIBC = 36
"""Debian bookworm's: the newest that a wheel may ask for is manylinux_2_36."""


@dataclass(frozen=True, slots=True)
class Architecture:
    name: str
    """Debian's and OCI's name for it."""
    machine: str
    """The one in names of wheels, and the kernel's."""
    elf_machine: int
    """In the header of its programs and libraries (ELF's e_machine)."""

    @property
    def wheel_options(self) -> tuple[str, ...]:
        """For pip: which wheels run there, whatever runs here."""
        tags = [f"manylinux_2_{minor}_{self.machine}" for minor in range(_GLIBC, 16, -1)]
        platforms = (*tags, f"manylinux2014_{self.machine}", f"linux_{self.machine}")
        chosen = tuple(part for tag in platforms for part in ("--platform", tag))
        return ("--implementation", "cp", "--python-version", "3.11", "--abi", "cp311", "--abi", "abi3", *chosen)


AMD64 = Architecture("amd64", "x86_64", 62)
ARM64 = Architecture("arm64", "aarch64", 183)
ALL = (AMD64, ARM64)
