"""STO-04: a directory whose disk refuses to be read is taken for one that has nothing."""

from __future__ import annotations

import pytest

from controller_runtime.storage import directories, meta_properties
from controller_runtime.values import replace

SHOWN_BY = "unit/storage/test_unreadable_directories.py::test_one_whose_disk_answers_with_errors_is_offline"


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = meta_properties.load_ensemble
    patch.setattr(directories, "load_ensemble", lambda *given: replace(right(*given), errors={}, unreadable={}))
