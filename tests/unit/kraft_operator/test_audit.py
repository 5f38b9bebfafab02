"""spec.archive.audit: what runs, with which rights, and what is said of what it finds, once. The real planner and
reconciler over the model of Kubernetes, and the line as the pipeline writes it.
"""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from kraft_operator.actions import ApplyChild, DeleteChild
from kraft_operator.api.audit import schedule_problem
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.archive_page import LOOK_SECONDS, ArchiveMemory
from kraft_operator.audit_pods import audit_seen
from kraft_operator.audit_status import note_audit
from kraft_operator.audits import AuditSeen, summary_of
from kraft_operator.events import notes
from kraft_operator.metrics import Metrics
from kraft_operator.plan.audit import tell_audit
from kraft_operator.plan.situation import Situation, Topic
from kraft_operator.plugin.archive import archive_lines
from kraft_operator.status import status
from metadata_pipeline.audit.findings import AuditFinding
from metadata_pipeline.audit.summary import summary
from metadata_pipeline.cli import parser
from support.operator_model.world import IMAGES, World, resource

pytestmark = pytest.mark.unit

AUDIT = {"schedule": "17 3 * * *", "timeZone": "Europe/Berlin", "image": "pipeline:1"}
ELSEWHERE = {**AUDIT, "lake": {"claimName": "lakes"}}
Status = dict[str, Any]


def fresh(audit: dict[str, Any] | None = AUDIT) -> World:
    made = World(archive={"storage": {"size": "1Gi"}, **({"audit": audit} if audit else {})})
    made.settle()
    return made


@cache
def made_once(audit: str) -> World:
    return fresh(json.loads(audit))


def world(audit: dict[str, Any] | None = AUDIT) -> World:
    """One that nobody moves: each test may give its copy another resource."""
    return copy(made_once(json.dumps(audit)))


def child(of: World, kind: str) -> dict[str, Any]:
    return dict(of.children[kind, "c-audit"].live["spec"])


def finding(offset: int, kind: str = "gap") -> AuditFinding:
    return AuditFinding("any", kind, -1, "d", "/var/lib/kafka/archive/log/0.log", 7, offset, f"offset {offset} is gone")


def pod(line: str, at: int, phase: str = "Succeeded", code: int = 0, **more: Any) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": code, "message": line}}
    return {
        "metadata": {"labels": {"app.kubernetes.io/name": "kraft-audit"}, "creationTimestamp": f"2026-01-01T{at:02}"},
        "status": {"phase": phase, "containerStatuses": [{"name": "audit", "state": ended}], **more},
    }


def line_of(of: World, at: float, *found: AuditFinding) -> str:
    assert of.ledger is not None
    return summary(found, {of.ledger.cluster_id: 40}, at)


def after(of: World, old: Status, *pods: dict[str, Any]) -> Status:
    observed = replace(of.observed(), audit=audit_seen(pods))
    return status(of.cluster, observed, of.plan(), old, "now")


def told(old: Status, new: Status) -> list[tuple[str, str]]:
    found = notes(old, new, None, None, ())
    return [(each.reason, each.text) for each in found if each.action == "Audit"]


def test_the_job_runs_with_least_rights_beside_the_follower() -> None:
    made = world()
    job = child(made, "CronJob")
    assert (job["schedule"], job["timeZone"], job["suspend"]) == ("17 3 * * *", "Europe/Berlin", False)
    assert job["concurrencyPolicy"] == "Forbid"
    template = job["jobTemplate"]["spec"]["template"]
    spec, (container,) = template["spec"], template["spec"]["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    log, lake, _ = container["volumeMounts"]
    assert (log["mountPath"], log["readOnly"]) == ("/var/lib/kafka/archive", True)
    assert lake == {"name": "archive", "subPath": "lake", "mountPath": "/var/lib/kafka/lake"}
    assert container["env"] == [{"name": "XDG_CACHE_HOME", "value": "/nonexistent"}], "a root that is read-only"
    given = parser().parse_args(container["args"])
    assert (given.job, given.output, given.summary) == ("run", "/var/lib/kafka/lake", "/dev/termination-log")
    assert given.paths == ["/var/lib/kafka/archive/log"]
    (near,) = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    follower = made.children["StatefulSet", "c-archive"].live["spec"]["template"]["metadata"]["labels"]
    assert near["labelSelector"]["matchLabels"].items() <= follower.items()
    policy = child(made, "NetworkPolicy")
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy, "nothing may reach it"
    assert "egress" not in policy, "it may reach nothing"
    labels = template["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    for key, each in made.children.items():
        if key[0] == "NetworkPolicy" and key[1] != "c-audit":
            assert not each.live["spec"]["podSelector"]["matchLabels"].items() <= labels.items(), key


def test_a_lake_elsewhere_lies_under_the_clusters_name() -> None:
    spec = child(world(ELSEWHERE), "CronJob")["jobTemplate"]["spec"]["template"]["spec"]
    assert {"name": "lake", "persistentVolumeClaim": {"claimName": "lakes"}} in spec["volumes"]
    assert spec["containers"][0]["volumeMounts"][1]["subPath"] == "c"


def test_what_runs_goes_with_the_field_and_nothing_is_planned_at_rest() -> None:
    made, bare = world(), world(None)
    assert made.plan().actions == ()
    assert not [key for key in bare.children if key[1] == "c-audit"]
    bare.cluster = replace(bare.cluster, spec=made.cluster.spec)
    applied = [each for each in bare.plan().actions if isinstance(each, ApplyChild)]
    assert [each.manifest["kind"] for each in applied] == ["NetworkPolicy", "CronJob"]
    made.cluster = replace(made.cluster, spec=world(None).cluster.spec)
    gone = [each for each in made.plan().actions if isinstance(each, DeleteChild)]
    assert {(each.kind, each.name) for each in gone} == {("CronJob", "c-audit"), ("NetworkPolicy", "c-audit")}


@pytest.mark.parametrize(
    "changes", [{"archive": {"audit": {**AUDIT, "suspend": True}}}, {"lifecycle": {"state": "Hibernated"}}], ids=str
)
def test_audits_are_suspended_when_asked_to_and_while_the_follower_sleeps(changes: dict[str, Any]) -> None:
    made = fresh()
    made.edit(**{"archive": {"audit": AUDIT}, **changes})
    made.settle()
    assert child(made, "CronJob")["suspend"] is True


def test_each_finding_is_told_once_and_once_more_when_it_is_gone() -> None:
    made = world()
    first = after(made, {}, pod(line_of(made, 100, finding(9), finding(5, "behind")), 1))
    audit = first["archive"]["audit"]
    assert (audit["at"], audit["end"]) == ("1970-01-01T00:01:40Z", 40)
    assert (audit["errors"], audit["warnings"], audit["notes"]) == (1, 0, 1)
    text = "gap (error), node -1, file 0.log, position 7, offset 9: offset 9 is gone"
    assert told({}, first) == [("AuditFinding", text)], "a note is no Event"
    same = after(made, first, pod(line_of(made, 100, finding(9)), 1), pod(line_of(made, 200, finding(9)), 2))
    assert same["archive"]["audit"]["at"] > audit["at"]
    assert told(first, same) == []
    second = after(made, same, pod(line_of(made, 300, finding(9), finding(11)), 3))
    assert [each for each, _ in told(same, second)] == ["AuditFinding"]
    well = after(made, second, pod(line_of(made, 400), 4))
    assert [each for each, _ in told(second, well)] == ["AuditFindingResolved"] * 2
    assert told(well, after(made, well)) == [], "a pod that is gone resolves nothing"
    assert after(made, well)["archive"]["audit"] == well["archive"]["audit"]


def test_of_a_hundred_findings_ten_are_told_and_none_that_is_not_named_is_resolved() -> None:
    made = world()
    many = [finding(each) for each in range(100, 300)]
    first = after(made, {}, pod(line_of(made, 100, *many), 1))
    said = told({}, first)
    assert len(said) == len(first["archive"]["audit"]["worst"]) + 1 <= 11
    assert said[-1][1].startswith(f"{100 - len(said) + 1} more that the audit of")
    worse = [finding(each, "divergence") for each in range(100)]
    second = after(made, first, pod(line_of(made, 200, *worse, *many), 2))
    assert not [each for each, _ in told(first, second) if each == "AuditFindingResolved"]


def test_an_older_audit_another_clusters_or_one_of_no_audit_changes_nothing() -> None:
    made = world()
    first = after(made, {}, pod(line_of(made, 100, finding(9)), 1))
    assert after(made, first, pod(line_of(made, 50), 0))["archive"]["audit"] == first["archive"]["audit"]
    other = summary((), {"another": 3}, 900)
    assert after(made, first, pod(other, 2))["archive"]["audit"] == first["archive"]["audit"]
    made.cluster = replace(made.cluster, spec=world(None).cluster.spec)
    assert "audit" not in after(made, first, pod(line_of(made, 100), 1))["archive"]


def test_the_numbers_are_those_of_the_status_and_go_with_the_field() -> None:
    made, metrics, labels = world(), Metrics(), {"namespace": "n", "name": "c"}
    first = after(made, {}, pod(line_of(made, 100, finding(9), finding(5, "behind")), 1))
    note_audit(metrics, first, labels)
    rendered = metrics.render()
    assert 'kraft_operator_audit_findings{name="c",namespace="n",severity="error"} 1.0' in rendered
    assert 'kraft_operator_audit_findings{name="c",namespace="n",severity="warning"} 0.0' in rendered
    assert 'kraft_operator_audit_end_offset{name="c",namespace="n"} 40.0' in rendered
    assert 'kraft_operator_audit_timestamp_seconds{name="c",namespace="n"} 100.0' in rendered
    note_audit(metrics, {}, labels)
    assert "kraft_operator_audit_findings{" not in metrics.render(), "or its alert would fire for ever"


def test_the_plugin_tells_what_the_newest_audit_found_and_that_none_is_made() -> None:
    made = world()
    written = {
        "status": after(made, {}, pod(line_of(made, 100, finding(9)), 1), pod("the disk is full", 2, "Failed", 2))
    }
    said = archive_lines(written, None)
    assert "audit    1 errors, 0 warnings, 0 notes up to offset 40, at 1970-01-01T00:01:40Z" in said
    assert "found    gap (error), node -1, file 0.log, position 7, offset 9: offset 9 is gone" in said
    assert not any(each.startswith("audit") for each in archive_lines({"status": after(world(None), {})}, None))


def waiting(reason: str, message: str) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    statuses = [{"name": "audit", "state": state}]
    return {**pod("", 9), "status": {"phase": "Pending", "containerStatuses": statuses}}


WELL = '{"version":1,"at":1,"ends":{},"counts":{"error":0,"warning":0,"note":0},"names":[],"unnamed":0,"worst":[]}'


@pytest.mark.parametrize(
    ("pods", "missing", "reason", "said"),
    [
        ((), False, None, ""),
        ((pod(WELL, 1),), False, None, ""),
        ((), True, "LakeClaimNotFound", "create the claim lakes in namespace n"),
        ((pod("kraft-pipeline run: error: the disk is full", 1, "Failed", 2),), False, "AuditFailed", "disk is full"),
        ((pod("", 1, "Failed", 1), pod(WELL, 2)), False, None, ""),
        ((pod("not a line", 1),), False, "AuditFailed", "cannot be understood"),
        ((pod("error: sasl.jaas.config=x password=hunter2", 1, "Failed", 2),), False, "AuditFailed", "[hidden]"),
        ((waiting("ImagePullBackOff", "no such image"),), False, "AuditNotStarted", "no such image"),
        ((pod("", 1, "Failed", 1), waiting("ContainerCreating", "")), False, "AuditFailed", "exit code 1"),
    ],
)
def test_a_run_that_fails_is_a_condition_and_holds_nothing_back(
    pods: tuple[dict[str, Any], ...], missing: bool, reason: str | None, said: str
) -> None:
    made = world(ELSEWHERE)
    observed = replace(made.observed(), audit=audit_seen(pods), lake_missing=missing)
    now = Situation(made.cluster, observed, made.ledger, made.fence, made.draw, IMAGES, nodes=made.plan().nodes)
    found = tell_audit(now).findings
    assert [(each.topic, each.reason) for each in found] == ([(Topic.AUDIT, reason)] if reason else [])
    assert all(said in each.message and not each.stalled and "hunter2" not in each.message for each in found)
    decision = replace(made.plan(), findings=found)
    conditions = {each["type"]: each for each in status(made.cluster, observed, decision, {}, "now")["conditions"]}
    assert conditions["AuditCurrent"]["status"] == ("False" if reason else "True")
    assert conditions["Ready"]["reason"] != reason
    assert "AuditCurrent" not in {
        each["type"] for each in status(world(None).cluster, observed, made.plan(), {}, "now")["conditions"]
    }


def test_what_is_no_summary_is_nothing() -> None:
    assert summary_of(WELL) is not None
    for strange in ("", "[]", "{}", "null", "1e999", "[" * 100_000, WELL[:-1], WELL.replace('"at":1', '"at":1e999'),
                    WELL.replace('"version":1', '"version":2'), WELL.replace("[]}", "[1]}"),
                    WELL.replace("{}", "[]")):  # fmt: skip
        assert summary_of(strange) is None, strange[:80]
    assert audit_seen([{"metadata": {}}, {"metadata": {"labels": {}}}]) == AuditSeen()


class Claims:
    """A gateway that counts what it is asked for."""

    def __init__(self) -> None:
        self.asked = 0
        self.there = False

    def find(self, *_: object) -> dict[str, Any] | None:
        self.asked += 1
        return {} if self.there else None


def test_the_claim_of_a_lake_is_looked_for_once_a_minute() -> None:
    claims, memory = Claims(), ArchiveMemory()
    kube: Any = claims
    cluster = world(ELSEWHERE).cluster
    assert memory.lacks_lake(cluster, kube, 0.0)
    claims.there = True
    assert memory.lacks_lake(cluster, kube, LOOK_SECONDS - 1)
    assert not memory.lacks_lake(cluster, kube, LOOK_SECONDS)
    assert claims.asked == 2
    assert not memory.lacks_lake(world().cluster, kube, 1000.0)
    assert claims.asked == 2, "there is nothing to look for"


@pytest.mark.parametrize("schedule", ["5-1 * * * *", "0 0 * * FRI-MON", "0 0 * * * *", "@every", "0 0 * FEB-X *", ""])
def test_a_schedule_that_kubernetes_would_refuse_is_refused_before(schedule: str) -> None:
    """Ranges that fall are beyond what a rule of the definition can say; the others are in tests/e2e/test_crd_rules."""
    assert schedule_problem(schedule) is not None
    with pytest.raises(InvalidSpec):
        parse_cluster(resource(archive={"audit": {**AUDIT, "schedule": schedule}}))


def test_the_line_holds_no_more_than_the_definition_of_the_status_lets_in() -> None:
    made = world()
    strange = json.loads(line_of(made, 100, finding(9)))
    strange["worst"] = [{**strange["worst"][0], "detail": "x" * 9000, "file": "f" * 900, "password": "hunter2"}] * 50
    strange["names"] = ["n" * 99] * 900
    audit = after(made, {}, pod(json.dumps(strange), 1))["archive"]["audit"]
    assert len(audit["worst"]) == 10
    assert len(audit["names"]) == 100
    assert (len(audit["worst"][0]["detail"]), len(audit["worst"][0]["file"]), len(audit["names"][0])) == (300, 128, 16)
    assert "hunter2" not in json.dumps(audit)
