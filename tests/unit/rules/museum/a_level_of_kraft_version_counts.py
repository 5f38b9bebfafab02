"""FEA-04: a FeatureLevelRecord of kraft.version is replayed as that of any feature."""

from __future__ import annotations

import pytest

from controller_runtime.metadata import replay

SHOWN_BY = "unit/controller/test_feature_updates.py::test_a_level_of_kraft_version_in_a_record_is_none"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(replay, "KRAFT_VERSION", "no.such.feature")
