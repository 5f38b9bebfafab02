"""spec.archive.objectStore: what the follower's pod gets, what is refused, and what is told of the copy."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.archives import STORE_STANDINGS, ArchiveSeen, StoreSeen, archive_seen
from kraft_operator.manifests.archive import archive_objects
from kraft_operator.plan.archive import keep_archive
from kraft_operator.plan.archive_copy import BEHIND_SECONDS, tell_archive_copy
from kraft_operator.plan.situation import Situation, Topic
from kraft_operator.plugin.archive import archive_lines
from kraft_operator.status import status
from metadata_pipeline.archive.command import parser
from metadata_pipeline.archive.problems import Standing, StoreStanding
from metadata_pipeline.archive.telling import StoreTelling, Telling, as_json
from support.operator_model.secure_runs import formed
from support.operator_model.world import IMAGES, World, resource

pytestmark = pytest.mark.unit

ENDPOINT = "https://minio.storage.svc:9000"
STORE = {
    "url": "s3://backups/kafka/c", "region": "eu-central-1", "endpoint": ENDPOINT, "credentialsSecret": "opens",
    "encryptionSecret": "seals", "caSecret": "authority",
}  # fmt: skip
ARCHIVE = {"archive": {"objectStore": STORE}}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WELL = StoreSeen("Shipping", end=10, lag=2, contact=NOW.timestamp() - 1, encrypted=True, keys=("2026-11",))
HERE = ArchiveSeen("Following", end=12, lag=0, caught_up=NOW.timestamp() - 1, store=WELL)


def store(**changes: object) -> dict[str, Any]:
    found = {key: value for key, value in {**STORE, **changes}.items() if value is not None}
    return {"archive": {"objectStore": found}}


def settled(**changes: object) -> World:
    world = World(**changes)
    world.settle()
    return world


def situation(world: World, seen: ArchiveSeen | None) -> Situation:
    observed = replace(world.observed(), archive=seen)
    return Situation(
        world.cluster, observed, world.ledger, world.fence, world.draw, IMAGES, nodes=world.plan().nodes, date=NOW
    )


def objects(**changes: object) -> dict[str, Any]:
    made = archive_objects(parse_cluster(resource(**store(**changes))), IMAGES, "id", (0,), 1)
    return {each["kind"]: each for each in made}


def pod(**changes: object) -> dict[str, Any]:
    return dict(objects(**changes)["StatefulSet"]["spec"]["template"]["spec"])


def test_what_opens_the_store_is_mounted_and_the_rest_is_no_secret() -> None:
    found = pod()
    (container,) = found["containers"]
    given = parser().parse_args(container["args"])
    assert (given.store, given.store_keys) == (STORE["url"], "/etc/kafka/store-keys")
    assert given.store_credentials == "/etc/kafka/store-credentials"
    assert container["env"] == [
        {"name": "AWS_REGION", "value": "eu-central-1"},
        {"name": "AWS_ENDPOINT_URL", "value": ENDPOINT},
        {"name": "AWS_CA_BUNDLE", "value": "/etc/kafka/store-ca/ca.crt"},
    ]
    volumes = {each["name"]: each.get("secret") for each in found["volumes"]}
    assert volumes["store-credentials"] == {"secretName": "opens", "defaultMode": 0o440, "optional": True}
    assert volumes["store-keys"] == {"secretName": "seals", "defaultMode": 0o440, "optional": True}
    assert volumes["store-ca"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}], "what else is in it is not mounted"
    mounts = {each["name"]: each for each in container["volumeMounts"]}
    assert all(mounts[name]["readOnly"] for name in volumes)
    assert mounts["store-credentials"]["mountPath"] == given.store_credentials
    config_map = {each["name"]: each for each in pod(caSecret=None, caConfigMap="bundle")["volumes"]}["store-ca"]
    assert (config_map["configMap"]["name"], config_map["configMap"]["optional"]) == ("bundle", True)


def test_without_keys_nothing_asks_for_them_and_without_a_store_nothing_changes() -> None:
    plain = pod(encryptionSecret=None, caSecret=None, endpoint=None)
    (container,) = plain["containers"]
    assert "--store-keys" not in container["args"]
    assert [each["name"] for each in container["env"]] == ["AWS_REGION"]
    assert [each["name"] for each in plain["volumes"]] == ["store-credentials"]
    (without,) = (
        each for each in archive_objects(parse_cluster(resource(archive={})), IMAGES, "id", (0,), 1)
        if each["kind"] == "StatefulSet"
    )  # fmt: skip
    template = json.dumps(without["spec"]["template"])
    assert '"env"' not in template
    assert "store-" not in template


@pytest.mark.parametrize(
    ("endpoint", "port"),
    [(None, 443), (ENDPOINT, 9000), ("https://s3.example", 443), ("http://[fd00::1]:81", 81), ("http://a.b", 80)],
)
def test_the_network_lets_it_to_the_port_of_the_store_too(endpoint: str | None, port: int) -> None:
    egress = objects(endpoint=endpoint)["NetworkPolicy"]["spec"]["egress"]
    assert egress[2:] == [{"ports": [{"port": port, "protocol": "TCP"}]}]
    env = {each["name"] for each in pod(endpoint=endpoint)["containers"][0]["env"]}
    assert ("AWS_ALLOW_HTTP" in env) == (endpoint is not None and endpoint.startswith("http:"))


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"url": None}, "url"),
        ({"url": "gs://bucket/prefix"}, "url"),
        ({"url": "s3://bucket/prefix/"}, "url"),
        ({"credentialsSecret": None}, "credentialsSecret"),
        ({"credentialsSecret": "No Name"}, "credentialsSecret"),
        ({"region": "eu central"}, "region"),
        ({"endpoint": "minio:9000"}, "endpoint"),
        ({"endpoint": "https://user:password@minio"}, "endpoint"),
        ({"endpoint": "https://minio:70000"}, "endpoint"),
        ({"endpoint": "http://minio:9000", "encryptionSecret": None}, "endpoint"),
        ({"caConfigMap": "bundle"}, "caConfigMap"),
        ({"region": None, "endpoint": None}, ""),
    ],
)
def test_a_wrong_field_is_named(wrong: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_cluster(resource(**store(**wrong)))
    assert refused.value.path == f"spec.archive.objectStore.{path}".rstrip(".")


LONG_AGO = NOW.timestamp() - BEHIND_SECONDS - 1


@pytest.mark.parametrize(
    ("copy", "reason"),
    [
        (WELL, None),
        (None, "CopyStarting"),
        (StoreSeen("Starting"), "CopyStarting"),
        (replace(WELL, standing="Away"), None),
        (replace(WELL, standing="Away", contact=LONG_AGO), "CopyBehind"),
        (replace(WELL, contact=LONG_AGO), "CopyBehind"),
        (replace(WELL, standing="Lost"), None),
        (replace(WELL, standing="Refused"), "CopyRefused"),
        (replace(WELL, standing="BadKeys"), "CopyKeysBad"),
        (replace(WELL, standing="InUse"), "CopyInUse"),
        (replace(WELL, standing="AnotherCluster"), "CopyOfAnotherCluster"),
        (replace(WELL, standing="Forked"), "CopyForked"),
        (replace(WELL, standing="Damaged"), "CopyDamaged"),
        (replace(WELL, standing="Unnamed"), "CopyUnnamed"),
    ],
    ids=str,
)
def test_what_is_wrong_with_the_copy_is_told_and_neither_cluster_nor_archive_waits(
    copy: StoreSeen | None, reason: str | None
) -> None:
    world = settled(**ARCHIVE)
    seen = replace(HERE, store=copy)
    verdict = tell_archive_copy(situation(world, seen))
    assert [each.reason for each in verdict.findings] == ([reason] if reason else [])
    assert all(each.topic is Topic.ARCHIVE_COPY and not each.stalled for each in verdict.findings)
    assert keep_archive(situation(world, seen)).findings == ()
    decision = replace(world.plan(), findings=verdict.findings)
    found = status(world.cluster, replace(world.observed(), archive=seen), decision, {}, "now")
    conditions = {each["type"]: each for each in found["conditions"]}
    assert conditions["ArchiveCopyCurrent"]["status"] == ("False" if reason else "True")
    assert conditions["ArchiveCurrent"]["status"] == "True"
    assert conditions["Ready"]["reason"] != reason


def test_who_has_no_copy_or_sleeps_is_told_nothing_and_a_silent_page_says_nothing_good() -> None:
    without, world = settled(archive={}), settled(**ARCHIVE)
    assert tell_archive_copy(situation(without, HERE)).findings == ()
    told = status(without.cluster, replace(without.observed(), archive=HERE), without.plan(), {}, "now")
    assert "ArchiveCopyCurrent" not in {each["type"] for each in told["conditions"]}
    assert "objectStore" not in told["archive"]
    assert [each.reason for each in tell_archive_copy(situation(world, None)).findings] == ["ArchiveNotReached"]
    asleep = replace(
        situation(world, None), cluster=parse_cluster(resource(**ARCHIVE, lifecycle={"state": "Hibernated"}))
    )
    assert tell_archive_copy(asleep).findings == ()


def test_the_status_says_what_is_proven_whether_it_is_encrypted_and_what_to_do() -> None:
    world = settled(**ARCHIVE)

    def told(copy: StoreSeen | None, old: dict[str, Any]) -> dict[str, Any]:
        seen = replace(world.observed(), archive=replace(HERE, store=copy) if copy is not None else None)
        found = status(world.cluster, seen, world.plan(), {"archive": {"objectStore": old}}, "now")
        return dict(found["archive"]["objectStore"])

    url = STORE["url"]
    first = told(replace(WELL, contact=0.0, encrypted=False, standing="Starting"), {})
    assert first == {"url": url, "standing": "Starting"}, "nothing is known of its encryption yet"
    verified = replace(WELL, verified_end=9, verified_at=NOW.timestamp())
    well = told(verified, first)
    proven = {"end": 9, "at": "2026-01-01T00:00:00Z"}
    assert well == {"url": url, "standing": "Shipping", "encrypted": True, "verified": proven}
    assert told(replace(verified, end=99, lag=7, contact=NOW.timestamp()), well) == well, "no number of the moment"
    away = told(replace(verified, standing="Away", why="took 3 ms", remedy="look there"), well)
    assert (away["message"], away["verified"]) == ("look there: took 3 ms", proven)
    assert told(replace(verified, standing="Away", why="took 4 ms", remedy="look there"), away) == away
    refused = told(replace(verified, standing="Refused", why="no", remedy="mend it"), away)
    assert refused["message"] == "mend it: no"
    assert told(None, well) == {**well, "standing": "Unknown"}, "what was proven stays"
    assert "message" not in told(verified, refused)


def test_the_page_is_understood_as_it_is_written() -> None:
    copy = StoreTelling(
        "s3://b/c", StoreStanding.AWAY, "gone", start=1, end=9, lag=3, keys=("2025", "2026"), contact=5.5,
        verified=4.5, verified_end=8,
    )  # fmt: skip
    page = as_json(Telling(Standing.FOLLOWING, store=copy)).decode()
    found = archive_seen(page)
    assert found is not None
    seen = found.store
    assert seen is not None
    assert (seen.standing, seen.why, seen.end, seen.lag, seen.contact) == ("Away", "gone", 9, 3, 5.5)
    assert (seen.encrypted, seen.keys, seen.verified_end, seen.verified_at) == (True, ("2025", "2026"), 8, 4.5)
    assert seen.remedy.startswith("look whether the store can be reached")
    assert {each.value for each in StoreStanding} == STORE_STANDINGS
    stranger = archive_seen(page.replace('"standing": "Away"', '"standing": "Dancing"'))
    assert stranger is not None
    assert stranger.store is None
    assert archive_seen(page.replace('"end": 9', '"end": "x"')) is None


def test_the_plugin_tells_how_far_the_copy_is_and_what_to_do() -> None:
    world = settled(**ARCHIVE)
    refused = replace(HERE, store=replace(WELL, standing="Refused", why="no"))
    findings = tell_archive_copy(situation(world, refused)).findings
    decision = replace(world.plan(), findings=findings)
    written = {"status": status(world.cluster, replace(world.observed(), archive=refused), decision, {}, "now")}
    said = archive_lines(written, HERE)
    where = "s3://backups/kafka/c, up to offset 10, 2 records behind the archive; encrypted with 2026-11"
    assert f"store    Shipping: {where}" in said
    assert said[-1].startswith("to do    CopyRefused: mend spec.archive.objectStore or what its Secret opens holds")
    assert f"store    Refused: {STORE['url']}" in archive_lines(written, None)


def test_of_a_secure_cluster_the_store_is_beside_the_certificate() -> None:
    run = formed(**ARCHIVE)
    found = run.world.children["StatefulSet", "c-archive"].live["spec"]["template"]["spec"]
    (container,) = found["containers"]
    given = parser().parse_args(container["args"])
    assert (given.command_config, given.store) == ("/etc/kafka/client/client.properties", STORE["url"])
    paths = [each["mountPath"] for each in container["volumeMounts"]]
    assert len(set(paths)) == len(paths) == 6
