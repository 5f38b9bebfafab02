"""Memory that is freed stays with the process, where the C library gives large pieces back at once: glibc.

Decoding makes and drops arrays of some megabytes for every chunk. glibc maps each from the kernel, returns it, and the next one is paged in
anew: tens of thousands of page faults for two million records, a tenth to a fifth of all time. What is kept is bounded by what a chunk needs
at once, so the peak stays as it is. The setting is the whole process's: only programs and workers of ours ask for it, never a module that
somebody imports.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

_TRIM_THRESHOLD: Final = -1, 512 << 20
"""mallopt(3): how much free memory at the end of the heap is not given back."""
_MMAP_THRESHOLD: Final = -3, 32 << 20
"""What is smaller comes from the heap. The largest that every glibc accepts, and more than any array of a chunk."""


def keep_freed_memory() -> bool:
    """Ask for it; returns whether it was granted. Any number of times, anywhere: another C library is left as it is."""
    if not _is_glibc():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(*setting) == 1 for setting in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, OSError, ValueError):
        return False
