"""spec.archive.audit on a real Kubernetes, of one cluster: the schedule makes a run, and a clean archive has no
finding; a bit of the archive's disk is turned, which the next run tells with its place, as status, Event and number,
and when the archive is well again, that is told, too. The schedule's lake is on a claim of its own, the other on the
archive's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deploy.images import build
from kraft_operator.kube import CLAIM, CRON_JOB, POD, VOLUME
from kraft_operator.plugin.main import parser, run
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import (
    DEVCLUSTER,
    Images,
    Object,
    OperatorProcess,
    Story,
    eventually,
    operator,
    pool,
)
from support.pipeline.lake_rows import log_rows

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

ARCHIVE: Object = {"storage": {"size": "1Gi", "storageClassName": "standard"}}
AUDIT: Object = {"schedule": "@yearly", "timeZone": "Etc/UTC", "image": build.reference("spark")}
LAKES = "lakes"
TOPIC = "the-bytes-of-this-name-are-turned"


@pytest.fixture(scope="module")
def told(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Story, OperatorProcess]]:
    """The pipeline's image is large, so only the node that has the archive gets it."""
    folder = tmp_path_factory.mktemp("operator")
    controllers = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "256Mi"}}
    with (
        kubernetes.namespace("op-audits") as namespace,
        operator(namespace, folder, images, port=19690) as running,
    ):
        story = Story(kubernetes, namespace, images("runtime"))
        story.apply(controllers=controllers, brokerPools=[pool(1)], archive=ARCHIVE)
        story.await_ready()
        story.await_condition("ArchiveCurrent", "True", "Following")
        if kubernetes.context is None and os.environ.get("QUORATE_E2E_IMAGES") != "loaded":
            archive = build.build("spark", folder)
            follower = kubernetes.gateway.get(POD, namespace, f"{story.name}-archive-0")
            node = follower["spec"]["nodeName"]
            subprocess.run([*DEVCLUSTER, "load", "--node", node, str(archive)], check=True, capture_output=True)
            archive.unlink()
        yield story, running


def disk(story: Story) -> Path:
    return disk_of(story, f"archive-{story.name}-archive-0")


def disk_of(story: Story, claim: str) -> Path:
    found = story.kubernetes.gateway.get(CLAIM, story.namespace, claim)
    return Path(story.kubernetes.gateway.get(VOLUME, None, found["spec"]["volumeName"])["spec"]["local"]["path"])


def plugin(story: Story) -> str:
    said: list[str] = []
    given = parser().parse_args(["archive", story.name, "-n", story.namespace])
    assert run(given, story.kubernetes.gateway, said.append) == 0
    return "\n".join(said)


def claim_for_lakes(story: Story) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "resources": {"requests": {"storage": "1Gi"}},
    }  # fmt: skip
    story.kubernetes.gateway.create(CLAIM, story.namespace, {"metadata": {"name": LAKES}, "spec": spec})


def audit(story: Story) -> Object:
    return dict(story.resource()["status"]["archive"].get("audit") or {})


def audited_again(story: Story, name: str) -> Object:
    """A run beside the schedule, as a person makes one."""
    before = audit(story).get("at", "")
    story.kubernetes.kubectl("-n", story.namespace, "create", "job", f"--from=cronjob/{story.name}-audit", name)
    return eventually(f"the audit {name}", lambda: (now := audit(story)).get("at", "") > before and now)


def counted(story: Story, running: OperatorProcess) -> dict[str, float]:
    """By severity, as Prometheus scrapes them."""
    labels = f'name="{story.name}",namespace="{story.namespace}"'
    found = running.metrics()
    return {
        each: found[f'kraft_operator_audit_findings{{{labels},severity="{each}"}}'] for each in ("error", "warning")
    }


def turn(file: Path, position: int) -> None:
    """One bit of this byte; once more, and it is as it was."""
    with file.open("r+b", buffering=0) as log:
        log.seek(position)
        (was,) = log.read(1)
        log.seek(position)
        log.write(bytes([was ^ 1]))


def test_the_schedule_makes_an_audit_and_a_clean_archive_has_no_finding(
    told: tuple[Story, OperatorProcess], sampled: Callable[[str], None]
) -> None:
    story, running = told
    claim_for_lakes(story)
    soon = datetime.now(UTC) + timedelta(seconds=65)
    wanted = {**AUDIT, "schedule": f"{soon.minute} {soon.hour} * * *", "lake": {"claimName": LAKES}}
    story.apply(archive={**ARCHIVE, "audit": wanted})
    clean = eventually("an audit by the schedule", lambda: audit(story))
    assert (clean["errors"], clean["warnings"], clean["worst"]) == (0, 0, [])
    assert clean["end"] > 20
    job = story.kubernetes.gateway.get(CRON_JOB, story.namespace, f"{story.name}-audit")
    assert job["status"]["lastScheduleTime"] == soon.strftime("%Y-%m-%dT%H:%M:00Z")
    story.await_condition("AuditCurrent", "True")
    eventually("numbers", lambda: counted(story, running) == {"error": 0, "warning": 0})
    assert story.events("AuditFinding") == []
    assert "audit    0 errors, 0 warnings" in plugin(story)
    lake = disk_of(story, LAKES) / story.name
    assert lake != disk(story) / "lake"
    offsets = [each[0] for each in log_rows(lake)]
    assert offsets == list(range(len(offsets))), "the log's records, none twice"
    assert len(offsets) >= clean["end"]
    assert (lake / "report.html").is_file()
    assert not (disk(story) / "lake").exists(), "nothing of it is on the archive's claim"
    sampled(f"audited by the schedule, up to {clean['end']}; {len(offsets)} records in the lake of the claim {LAKES}")


def test_an_archive_that_rots_is_told_by_status_event_and_number_and_that_it_is_well_again(
    told: tuple[Story, OperatorProcess], sampled: Callable[[str], None]
) -> None:
    story, running = told
    story.apply(archive={**ARCHIVE, "audit": AUDIT})  # its lake is beside the log
    eventually("a CronJob", lambda: story.kubernetes.gateway.get(CRON_JOB, story.namespace, f"{story.name}-audit"))
    known = int(audit(story).get("end", 0))
    story.kafka("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", f"{story.name}-bootstrap:9092", "--create",
                "--topic", TOPIC, "--replica-assignment", "100")  # fmt: skip
    log = disk(story) / "log" / "__cluster_metadata-0" / f"{0:020}.log"
    eventually("the archive has the topic", lambda: TOPIC.encode() in log.read_bytes())
    position = log.read_bytes().index(TOPIC.encode())
    turn(log, position)
    found = audited_again(story, "rotten")
    assert found["errors"] >= 1
    worst = next(each for each in found["worst"] if each["kind"] == "bit rot")
    assert worst["file"] == log.name
    assert worst["position"] < position < worst["position"] + 200, "the batch that has the byte"
    assert worst["offset"] >= known, "what was read before was well"
    eventually("numbers", lambda: counted(story, running)["error"] == found["errors"])
    place = f"position {worst['position']}, offset {worst['offset']}"
    eventually("an Event", lambda: any(place in each["note"] for each in story.events("AuditFinding")))
    assert f"bit rot (error), node -1, file {log.name}" in plugin(story)
    assert story.condition("Ready")["status"] == "True", "nothing of the cluster waits for an audit"

    turn(log, position)
    shutil.rmtree(disk(story) / "lake")
    well = audited_again(story, "well")
    assert (well["errors"], well["warnings"], well["worst"]) == (0, 0, [])
    assert well["end"] >= found["end"]
    eventually("numbers", lambda: counted(story, running) == {"error": 0, "warning": 0})
    eventually("an Event of it", lambda: any(place in each["note"] for each in story.events("AuditFindingResolved")))
    sampled(f"audited up to {found['end']} with {found['errors']} errors, and up to {well['end']} with none")
