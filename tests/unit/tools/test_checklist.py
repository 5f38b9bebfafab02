from __future__ import annotations

from pathlib import Path

import pytest

from tools import checklist

pytestmark = pytest.mark.unit


def test_ids_are_found_alone_in_lists_and_in_ranges() -> None:
    text = '"""RFT-01..03 and PV-10; FET-07, 09; see KIP-853, SNP-1 and X-99."""'
    assert list(checklist.ids_in(text)) == ["RFT-01", "RFT-02", "RFT-03", "PV-10", "FET-07", "FET-09"]


def test_what_no_test_names_fails_unless_a_deviation_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests" / "checklist.txt").write_text(
        "# words\nRFT-01 a promise\nRFT-02 another\nXY-01 of a new group\n"
    )
    (tmp_path / "tests" / "unit" / "test_a.py").write_text('"""RFT-01."""\n')
    deviations = tmp_path / "docs" / "deviations.md"
    deviations.write_text("nothing\n")

    misprint = f"RFT-{70 + 7}"

    def run() -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checklist, "ROOT", tmp_path)
            return checklist.main([])

    assert run() == 1
    assert "no test names RFT-02: another" in capsys.readouterr().out
    deviations.write_text("RFT-02 is meant to be different, because\n")
    assert run() == 0
    (tmp_path / "tests" / "unit" / "test_b.py").write_text(f'"""{misprint}."""')
    assert run() == 1
    assert f"tests/unit/test_b.py: there is no {misprint}" in capsys.readouterr().out
