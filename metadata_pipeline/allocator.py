"""Memory that is freed stays with the process, in large pages, where the C library gives large pieces back at once:
glibc.

Decoding makes and drops arrays of some megabytes for every chunk. glibc maps each from the kernel, returns it, and the
next one is paged in anew, four kilobytes at a time: 50,000 page faults for two million records. So large pieces come
from the heap, the heap does not shrink, and the kernel is asked for large pages (2 MiB) for as much of it as a worker
needs. What is kept is bounded by what a chunk needs at once: the peak stays as it is. All this is the whole process's:
only programs and workers of ours ask for it, never a module that somebody imports.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any, Final

_TRIM_THRESHOLD: Final = -1
"""mallopt(3): how much free memory at the end of the heap is not given back."""
_TOP_PAD: Final = -2
"""How much more than is needed the heap grows at a time."""
_MMAP_THRESHOLD: Final = -3
"""What is smaller comes from the heap."""
_MEBI: Final = 1 << 20
_KEPT: Final = 512 * _MEBI
_LARGEST: Final = 32 * _MEBI
"""More than any array of a chunk, and the largest that every glibc accepts."""
_RESERVED: Final = 256 * _MEBI
"""What one worker needs, about. Address space only: a page takes memory when it is written to."""
_USUAL_PAD: Final = 128 << 10
_LARGE_PAGE: Final = 2 * _MEBI
_MADV_HUGEPAGE: Final = 14


@cache
def keep_freed_memory() -> bool:
    """Ask for it; returns whether it was granted. Any number of times, anywhere: another C library is left as it is."""
    if not _is_glibc():
        return False
    libc = ctypes.CDLL(None)
    granted = all(libc.mallopt(*each) == 1 for each in ((_TRIM_THRESHOLD, _KEPT), (_MMAP_THRESHOLD, _LARGEST)))
    if granted:
        _reserve(libc)
    return granted


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, OSError, ValueError):
        return False


def _reserve(libc: Any) -> None:
    """Grow the heap at once, and ask for large pages behind what is used. A kernel without them, or one that may not,
    says no; so be it.
    """
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    libc.malloc.argtypes, libc.free.argtypes, libc.sbrk.argtypes = (
        [ctypes.c_size_t],
        [ctypes.c_void_p],
        [ctypes.c_ssize_t],
    )
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.mallopt(_TOP_PAD, _RESERVED)
    place = libc.malloc(_LARGEST // 2)
    libc.free(place)
    libc.mallopt(_TOP_PAD, _USUAL_PAD)
    end = libc.sbrk(0)
    if place is None or not place < end <= place + 2 * _RESERVED:
        return  # a heap elsewhere: of another thread, or one that could not grow
    begin = place + -place % _LARGE_PAGE
    libc.madvise(begin, (end - begin) // _LARGE_PAGE * _LARGE_PAGE, _MADV_HUGEPAGE)
