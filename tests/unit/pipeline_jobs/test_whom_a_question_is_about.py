"""`ask --cluster` takes a cluster's id, or the name that the fleet file gave it when it was ingested; `--label` those
that have it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_pipeline.ask.command import add_arguments, asked_by
from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.entries import CopyFacts
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.problems import PipelineError

NAMES = {"payments": "id-of-payments", "search": "id-of-search"}


@pytest.fixture
def chosen(tmp_path: Path) -> Callable[..., set[str] | None]:
    keys = [CopyKey(cluster, -1, "wire") for cluster in (*NAMES.values(), "id-of-files")]
    copies = {key: CopyFacts(key, "wire", None) for key in keys}
    state = LakeState(copies=copies, summaries={"ingest": {"quorums": NAMES}})
    fleet = tmp_path / "fleet.yaml"
    quorums = [{"name": name, "bootstrap": "h:1", "labels": {"tier": "one"}} for name in NAMES]
    fleet.write_text(json.dumps({"quorums": quorums}))

    def ask(*words: str) -> set[str] | None:
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        found = asked_by(parser.parse_args(["leaders", "--fleet", str(fleet), *words]), state).clusters
        return None if found is None else set(found)

    return ask


def test_a_cluster_has_a_name_and_an_id(chosen: Callable[..., set[str] | None]) -> None:
    assert chosen() is None
    assert chosen("--cluster", "payments") == {"id-of-payments"}
    assert chosen("--cluster", "id-of-payments", "--cluster", "id-of-files") == {"id-of-payments", "id-of-files"}
    assert chosen("--label", "tier=one") == {"id-of-payments", "id-of-search"}
    assert chosen("--label", "tier=one", "--cluster", "search") == {"id-of-search"}
    with pytest.raises(PipelineError, match=r"the lake has no cluster payment\b"):
        chosen("--cluster", "payment")
