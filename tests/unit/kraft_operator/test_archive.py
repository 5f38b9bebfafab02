"""spec.archive: what runs, with which rights, what is said of it, and that nothing deletes it. The real planner and
reconciler over the model of Kubernetes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kraft_operator.actions import ApplyChild, DeleteChild
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.security import Stage
from kraft_operator.archive_page import ASK_SECONDS, SILENT_SECONDS, ArchiveMemory
from kraft_operator.archives import ArchiveSeen, ArchiveVerified, archive_seen
from kraft_operator.manifests.archive import archive_objects
from kraft_operator.plan.archive import BEHIND_SECONDS, CLUSTER_ACTION, keep_archive
from kraft_operator.plan.situation import Situation, Topic, Verdict
from kraft_operator.plan.users import keep_users
from kraft_operator.plugin.archive import archive_lines
from kraft_operator.status import status
from kraft_operator.users import Acl, ChangeAcls, ForgetUser, Found, Users
from metadata_pipeline.archive.command import parser
from metadata_pipeline.archive.memory import Verified
from metadata_pipeline.archive.problems import Standing
from metadata_pipeline.archive.telling import Telling, as_json
from metadata_pipeline.wire.leader import Mark, Told
from support.operator_model.secure_runs import formed, told
from support.operator_model.world import IMAGES, World, resource

pytestmark = pytest.mark.unit

ARCHIVE = {"archive": {"storage": {"size": "1Gi"}, "retention": "48h", "beginning": 3}}
PRINCIPAL = "CN=c-archive,OU=n,O=c"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WELL = ArchiveSeen("Following", end=10, caught_up=NOW.timestamp() - 1)


def situation(world: World, seen: ArchiveSeen | None = WELL, **changes: Any) -> Situation:
    observed = replace(world.observed(), archive=seen)
    return Situation(
        world.cluster, replace(observed, **changes), world.ledger, world.fence, world.draw, IMAGES,
        nodes=world.plan().nodes, date=NOW,
    )  # fmt: skip


def settled(**changes: object) -> World:
    world = World(**changes)
    world.settle()
    return world


def child(world: World, kind: str, name: str = "c-archive") -> dict[str, Any]:
    return dict(world.children[kind, name].live)


def test_the_follower_runs_with_least_rights_beside_the_quorum() -> None:
    world = settled(**ARCHIVE)
    template = child(world, "StatefulSet")["spec"]["template"]
    pod, (container,) = template["spec"], template["spec"]["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert container["image"] == IMAGES.operator
    ledger = world.ledger
    assert ledger is not None
    given = parser().parse_args(container["args"])
    assert given.bootstrap_controller.split(",")[0] == "c-controller-0-0.c-nodes.n.svc.cluster.local:9093"
    assert (given.cluster_id, given.begin, given.keep_hours) == (ledger.cluster_id, "1.3", 48.0)
    assert given.command_config is None
    labels = template["metadata"]["labels"]
    for name in ("c-controllers", "c-brokers"):
        chosen = child(world, "NetworkPolicy", name)["spec"]["podSelector"]["matchLabels"]
        assert not chosen.items() <= labels.items(), "it is none of the cluster's own pods"


def test_the_network_lets_it_to_the_controllers_and_name_servers_alone() -> None:
    world = settled(**ARCHIVE)
    policy = child(world, "NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    controllers, names = policy["egress"]
    assert controllers["to"][0]["podSelector"]["matchLabels"]["kraft.quorate.dev/role"] == "controller"
    assert [each["port"] for each in controllers["ports"]] == [9093]
    assert {each["port"] for each in names["ports"]} == {53}
    let_in = child(world, "NetworkPolicy", "c-controllers")["spec"]["ingress"][0]["from"]
    assert {"podSelector": {"matchLabels": policy["podSelector"]["matchLabels"]}} in let_in
    without = settled()
    assert ("NetworkPolicy", "c-archive") not in without.children
    assert len(child(without, "NetworkPolicy", "c-controllers")["spec"]["ingress"][0]["from"]) == len(let_in) - 1


def test_what_runs_goes_with_the_field_and_the_claim_never() -> None:
    world = settled(**ARCHIVE)
    spec = child(world, "StatefulSet")["spec"]
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert "ownerReferences" not in spec["volumeClaimTemplates"][0]["metadata"]
    assert "kraft.quorate.dev/cluster" not in spec["volumeClaimTemplates"][0]["metadata"]["labels"]
    world.cluster = replace(world.cluster, spec=replace(world.cluster.spec, archive=None))
    gone = [each for each in world.plan().actions if isinstance(each, DeleteChild)]
    assert {(each.kind, each.name) for each in gone} == {
        ("StatefulSet", "c-archive"), ("Service", "c-archive"), ("NetworkPolicy", "c-archive"),
    }  # fmt: skip
    world.settle()
    assert not [key for key in world.children if key[1].startswith("c-archive")]


def test_a_sleeping_cluster_has_no_follower_and_a_quorum_made_anew_another_beginning() -> None:
    cluster = parse_cluster(resource(**ARCHIVE, lifecycle={"state": "Hibernated"}))
    (asleep,) = (each for each in archive_objects(cluster, IMAGES, "id", (0,), 1) if each["kind"] == "StatefulSet")
    assert asleep["spec"]["replicas"] == 0
    (anew,) = (each for each in archive_objects(cluster, IMAGES, "id", (0,), 2) if each["kind"] == "StatefulSet")
    assert "2.3" in anew["spec"]["template"]["spec"]["containers"][0]["args"]


def test_nothing_is_planned_for_a_cluster_at_rest_and_no_node_takes_part() -> None:
    world = settled(**ARCHIVE)
    assert world.plan().actions == ()
    bare = settled()
    bare.cluster = replace(bare.cluster, spec=world.cluster.spec)
    applied = [each for each in bare.plan().actions if isinstance(each, ApplyChild)]
    assert {(each.manifest["kind"], each.manifest["metadata"]["name"]) for each in applied} == {
        ("Service", "c-archive"), ("NetworkPolicy", "c-archive"), ("StatefulSet", "c-archive"),
        ("NetworkPolicy", "c-controllers"),
    }  # fmt: skip


def test_a_secure_cluster_gives_it_a_certificate_of_its_own_and_cluster_action_alone() -> None:
    run = formed(**ARCHIVE)
    assert told(run, "c-archive-tls").subject == PRINCIPAL
    args = child(run.world, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[-4:-2] == ["--command-config", "/etc/kafka/client/client.properties"]
    assert "PRIVATE" not in json.dumps(child(run.world, "ConfigMap"))
    assert run.world.acls[PRINCIPAL] == {CLUSTER_ACTION}
    run.api.resource["spec"].pop("archive")
    for _ in range(3):
        run.now += 3600
        run.tick()
    run.settle()
    assert not run.world.acls.get(PRINCIPAL), "with the field goes the right"


def test_while_what_no_acl_is_about_is_allowed_none_is_made_that_would_shut_others_out() -> None:
    world = settled(**ARCHIVE)
    ledger, spec = world.ledger, world.cluster.spec
    assert ledger is not None

    def rights(stage: Stage, acls: dict[str, frozenset[Acl]]) -> Verdict:
        security = replace(spec.security, stage=stage, migrated=True)
        secured = replace(world.cluster, spec=replace(spec, security=security))
        return keep_archive(replace(situation(world, users=Users(found=Found(acls=acls))), cluster=secured))

    gives = (ChangeAcls(PRINCIPAL, (CLUSTER_ACTION,), (), "the archive follows the quorum by it"),)
    alter = Acl(4, "kafka-cluster", 3, "*", operation=7, permission=3)
    topic = Acl(2, "orders", 3, "*", operation=3, permission=3)
    assert rights(Stage.PLAIN, {}).actions == ()
    assert rights(Stage.AUTHORIZED, {"ann": frozenset((topic,))}).actions == ()
    assert rights(Stage.AUTHORIZED, {"ann": frozenset((alter,))}).actions == gives, "others' ACLs shut it out"
    assert rights(Stage.ENFORCED, {}).actions == gives
    has = {PRINCIPAL: frozenset((CLUSTER_ACTION,))}
    assert rights(Stage.ENFORCED, has).actions == ()
    security = replace(spec.security, stage=Stage.ENFORCED)
    secured = replace(world.cluster, spec=replace(spec, security=security))
    known = replace(
        situation(world, users=Users(found=Found(acls=has))), cluster=secured,
        ledger=replace(ledger, users=(PRINCIPAL,)),
    )  # fmt: skip
    assert not [each for each in keep_users(known).actions if isinstance(each, ForgetUser)]
    without = replace(known, cluster=replace(secured, spec=replace(secured.spec, archive=None)))
    assert [each.acls for each in keep_users(without).actions if isinstance(each, ForgetUser)] == [(CLUSTER_ACTION,)]


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (WELL, None),
        (None, "ArchiveNotReached"),
        (replace(WELL, standing="Starting"), "ArchiveStarting"),
        (replace(WELL, standing="Away", why="no leader"), None),
        (replace(WELL, standing="Away", caught_up=NOW.timestamp() - BEHIND_SECONDS - 1), "ArchiveBehind"),
        (replace(WELL, caught_up=NOW.timestamp() - BEHIND_SECONDS - 1), "ArchiveBehind"),
        (replace(WELL, standing="Forked"), "ArchiveForked"),
        (replace(WELL, standing="Damaged"), "ArchiveDamaged"),
        (replace(WELL, standing="Truncated"), "ArchiveTruncated"),
        (replace(WELL, standing="AnotherCluster"), "ArchiveOfAnotherCluster"),
    ],
    ids=str,
)
def test_what_is_wrong_with_it_is_told_and_holds_nothing_back(seen: ArchiveSeen | None, reason: str | None) -> None:
    world = settled(**ARCHIVE)
    verdict = keep_archive(situation(world, seen))
    assert [each.reason for each in verdict.findings] == ([reason] if reason else [])
    assert all(each.topic is Topic.ARCHIVE and not each.stalled for each in verdict.findings)
    decision = replace(world.plan(), findings=verdict.findings)
    found = status(world.cluster, replace(world.observed(), archive=seen), decision, {}, "now")
    conditions = {each["type"]: each for each in found["conditions"]}
    assert conditions["ArchiveCurrent"]["status"] == ("False" if reason else "True")
    assert conditions["Ready"]["reason"] != reason
    assert "ArchiveCurrent" not in {
        each["type"] for each in status(settled().cluster, settled().observed(), decision, {}, "now")["conditions"]
    }


def test_the_status_says_what_is_proven_and_where_the_secrets_lie() -> None:
    world = settled(**ARCHIVE)
    verified = ArchiveVerified(0, 10, 2, "abc", NOW.timestamp())
    seen = replace(WELL, verified=verified)
    found = status(world.cluster, replace(world.observed(), archive=seen), world.plan(), {}, "now")
    told = found["archive"]
    assert told["verified"] == {"start": 0, "end": 10, "epoch": 2, "digest": "abc", "at": "2026-01-01T00:00:00Z"}
    assert (told["standing"], told["claim"], told["access"]) == ("Following", "archive-c-archive-0", "Restricted")
    assert "SCRAM" in told["secrets"]
    silent = status(world.cluster, replace(world.observed(), archive=None), world.plan(), found, "later")["archive"]
    assert (silent["standing"], silent["verified"]) == ("Unknown", told["verified"]), "what was proven stays"
    moved = replace(seen, end=99, lag=3, caught_up=seen.caught_up + 5)
    again = status(world.cluster, replace(world.observed(), archive=moved), world.plan(), found, "later")
    assert again["archive"] == told, "numbers that change by themselves are not written"


def test_the_page_is_understood_as_it_is_written_and_what_is_none_is_nothing() -> None:
    verified = Verified(1, 9, 2, "0123456789abcdef", 5.5)
    told = Told(1, 3, 12, 4)
    page = as_json(Telling(Standing.AWAY, "no leader", start=1, mark=Mark(10, 2), told=told, caught_up=7.0, asides=2,
                           verified=verified))  # fmt: skip
    found = archive_seen(page.decode())
    assert found is not None
    assert (found.standing, found.why, found.end, found.lag, found.log_start) == ("Away", "no leader", 10, 2, 4)
    assert (found.caught_up, found.asides) == (7.0, 2)
    assert found.verified == ArchiveVerified(1, 9, 2, "0123456789abcdef", 5.5)
    text = page.decode()
    broken = (text.replace("Away", "Dancing"), text.replace('"end": 10', '"end": "x"'), text.replace("10", "1e999"))
    for strange in ("", "[]", "{}", "null", "[" * 100_000, '{"version": 2}', text[:40], *broken):
        assert archive_seen(strange) is None, strange[:80]
    assert all(archive_seen(as_json(Telling(each)).decode()) for each in Standing), "every word is known here"


def test_the_page_is_asked_now_and_then_and_a_silence_is_borne_for_a_while() -> None:
    cluster, asked = parse_cluster(resource(**ARCHIVE)), []
    answers = [as_json(Telling(Standing.FOLLOWING)).decode(), *[""] * 9]

    def read(url: str) -> str:
        asked.append(url)
        return answers[len(asked) - 1]

    memory = ArchiveMemory(read)
    assert memory.look(cluster, 0.0) == memory.look(cluster, ASK_SECONDS - 1) is not None
    assert asked == ["http://c-archive.n.svc.cluster.local:9404/status"]
    assert memory.look(cluster, ASK_SECONDS) is not None
    assert memory.look(cluster, SILENT_SECONDS) is None
    assert memory.look(parse_cluster(resource()), 100.0) is None
    assert len(asked) == 3


def test_the_plugin_tells_how_far_it_is_what_is_proven_and_what_is_wrong() -> None:
    world = settled(**ARCHIVE)
    seen = replace(WELL, lag=2, log_start=4, asides=1, verified=ArchiveVerified(0, 9, 2, "abc", NOW.timestamp()))
    observed = replace(world.observed(), archive=seen)
    written = {"status": status(world.cluster, observed, replace(world.plan(), findings=()), {}, "now")}
    assert archive_lines(written, seen) == [
        "archive  Following",
        "log      up to offset 10, 2 records behind; the quorum's log begins at 4",
        "proven   offsets 0 to 9 of epoch 2, read whole at 2026-01-01T00:00:00Z, digest abc",
        "aside    1 earlier beginnings are kept beside it",
        "volume   claim archive-c-archive-0, which outlives the cluster",
        f"access   Restricted: {written['status']['archive']['secrets']}",
    ]
    findings = keep_archive(situation(world, None)).findings
    decision = replace(world.plan(), findings=findings)
    silent = {"status": status(world.cluster, replace(observed, archive=None), decision, written["status"], "later")}
    said = archive_lines(silent, None)
    assert said[0] == "archive  Unknown"
    assert said[-1].startswith("to do    ArchiveNotReached: look at the pod c-archive-0")


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"retention": "59m"}, "spec.archive.retention"),
        ({"retention": "soon"}, "spec.archive.retention"),
        ({"beginning": -1}, "spec.archive.beginning"),
        ({"beginning": "x"}, "spec.archive.beginning"),
        ({"storage": {"size": "1Mi"}}, "spec.archive.storage.size"),
    ],
)
def test_a_wrong_field_is_named(wrong: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_cluster(resource(archive=wrong))
    assert refused.value.path == path
