"""The questions of docs/pipeline.md are asked again, of the golden logs of a real Apache Kafka; `--rewrite` writes the
answers into the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_pipeline.rendering import render_rows
from metadata_pipeline.tables.as_of import open_views
from support.pipeline.everything import Everything
from support.pipeline.questions import QUESTION

pytestmark = pytest.mark.timeout(1200)  # The first test that needs the lake waits for four jobs.

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"


def test_ten_questions_have_the_answers_that_the_page_shows(everything: Everything, rewrite: bool) -> None:
    open_views(everything.spark, everything.lake)
    text = PAGE.read_text()
    asked = list(QUESTION.finditer(text))
    assert len(asked) == 10

    def answered(match: re.Match[str]) -> str:
        rows = everything.spark.sql(match["sql"]).collect()
        assert rows, f"no answer to {match['sql']}"
        return f"```sql\n{match['sql']}```\n\n```text\n{render_rows(rows)}\n```\n"

    now = QUESTION.sub(answered, text)
    if rewrite:
        PAGE.write_text(now)
        pytest.skip("the page was written")
    assert now == text
