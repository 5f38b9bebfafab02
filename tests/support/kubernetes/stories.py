"""The stories of `tests/e2e`, what each of them takes, and which of them a run tells.

`make test` has ten minutes for this layer and all its stories together take far longer. So the cheap ones and the heart
are told always, and of the others the run's seed fills the budget; `make soak` tells all, and a story that is asked for
by name is told. Every test file has to be listed here: a run stops at one that is not, because nobody would know what
it costs. Seconds are those of two cores that have nothing else to do.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BUDGET_S: Final = 470
"""For the stories of `make test`; the layer's other minutes are for images, the Kubernetes, and a machine that is
slower than this one.
"""
SHARE_S: Final = 200
"""What the stories of one cluster may take of it, so that one cluster does not eat what is left."""


@dataclass(frozen=True, slots=True)
class Story:
    """Tests that are told together or not at all."""

    file: str
    seconds: int
    part: str = ""
    """The tests with this in their name. Without it: those of the file that no other of its stories has."""
    variant: str = ""
    """Of a file that tells everything several times: the parameter in brackets."""
    always: bool = False
    soak: bool = False
    """Too long for any run but `make soak`, or one that asks for the file by name."""

    @property
    def cluster(self) -> tuple[str, str]:
        return self.file, self.variant

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.part.replace("_", " "), self.variant)))
        return self.file.removeprefix("test_").removesuffix(".py") + (f" ({what})" if what else "")


CLUSTER: Final = "test_operator_cluster.py"
ESTATE: Final = "test_operator_estate.py"
CLASSES: Final = "test_operator_class_migration.py"
CHAPTERS: Final = {
    "": 25,
    "refused": 40,
    "adopted_when_it_is_applied_again": 35,
    "lost_ledger_is_rebuilt": 35,
    "highest_broker_leaves": 25,
    "lost_its_volume": 35,
    "scale_up_and_down": 60,
    "rolled_one_pod_at_a_time": 45,
}
"""Parts of the operator's long story, told on one cluster: every one of them begins and ends with a cluster that is
ready.
"""
RECOVERY: Final = "test_operator_recovery.py"
LOSSES: Final = {"two_of_three": 80, "all_controllers": 60, "old_majority": 150, "another_disk": 45}
FROM_ARCHIVE: Final = "test_operator_from_archive.py"
DRILLS: Final = {"earlier_moment": 65, "every_disk": 95}

STORIES: Final = (
    Story("test_crd_rules.py", 15, always=True),
    Story("test_manifests_accepted.py", 2, always=True),
    Story("test_plan_approval.py", 2, always=True),
    Story("test_operation_rules.py", 2, always=True),
    Story("test_installs_render_alike.py", 15, always=True),
    Story("test_operator_gateway.py", 10, always=True),
    Story("test_claim_policy.py", 10, always=True),
    Story(
        "test_spark_on_kubernetes.py", 145, always=True
    ),  # issue 6: one job of the pipeline on the devcluster in every run
    Story("test_operator_refusals.py", 60),
    Story("test_operator_refused_pods.py", 180),
    Story("test_crd_fields.py", 80, variant="[runtime]"),
    Story("test_crd_fields.py", 85, variant="[apache-kafka]"),
    Story("test_assigned_user.py", 50, variant="[runtime]"),
    Story("test_assigned_user.py", 45, variant="[apache-kafka]"),
    Story("test_helm_lifecycle.py", 120),
    Story("test_helm_values.py", 90),
    Story("test_install_docs.py", 180),
    Story("test_install_docs.py", 170, "way_out", soak=True),
    Story("test_recover_stand_alone.py", 40),
    Story("test_images_run.py", 60),
    Story("test_release_images.py", 110, "one_architecture"),
    Story("test_release_images.py", 330, soak=True),
    Story("test_demo_told.py", 110),
    Story("test_devcluster_lifecycle.py", 110),
    Story("test_operator_api_faults.py", 200, soak=True),
    Story("test_operator_disks.py", 120),
    Story("test_operator_fence.py", 120),
    Story("test_operator_lost_voters.py", 45, "deleted_claim"),
    Story("test_operator_lost_voters.py", 45, "emptied"),
    Story("test_operator_lost_voters.py", 90, "older_copy"),
    Story("test_operator_lost_voters.py", 45, "exchanged"),
    Story("test_operator_mishaps.py", 30, "configmaps"),
    Story("test_operator_mishaps.py", 120, "all_claims"),
    Story("test_operator_node_lost.py", 180),
    Story("test_operator_rolls.py", 150),
    Story("test_operator_archive.py", 180),
    Story("test_operator_archive_copy.py", 20, "copied", soak=True),
    Story("test_operator_archive_copy.py", 60, "everything_else", soak=True),
    Story("test_operator_archive_copy.py", 120, "every_disk", soak=True),
    Story("test_operator_audits.py", 95, "schedule"),
    Story("test_operator_audits.py", 100, "rots", soak=True),
    *(Story(FROM_ARCHIVE, seconds, part, "[one-controller]") for part, seconds in DRILLS.items()),
    *(
        Story(FROM_ARCHIVE, seconds * 3 // 2, part, "[three-controllers]", soak=True)
        for part, seconds in DRILLS.items()
    ),
    Story("test_operator_secure_drill.py", 190),
    Story("test_storage_identity.py", 100),
    Story("test_operator_drain.py", 170, soak=True),
    Story("test_java_fields.py", 60),
    Story("test_network_fields.py", 170),
    Story("test_operator_ingress.py", 150, soak=True),
    Story("test_operator_secure.py", 45),
    Story("test_operator_secure.py", 60, "copy_from_each_other"),
    Story("test_operator_secure.py", 40, "by_certificate_and_by_token"),
    Story("test_operator_secure.py", 90, "drift_of_a_user"),
    Story("test_operator_secure.py", 120, "another_authority", soak=True),
    Story("test_operator_secure.py", 480, "renewed_below_running_nodes", soak=True),
    Story("test_operator_many_users.py", 420, soak=True),
    Story("test_operator_becomes_secure.py", 190, variant="[one-controller]"),
    Story("test_operator_becomes_secure.py", 420, variant="[runtime]", soak=True),
    Story("test_operator_becomes_secure.py", 700, variant="[apache-kafka]", soak=True),
    Story("test_operator_recovers_becoming_secure.py", 190),
    Story("test_operator_restore.py", 190),
    Story("test_operator_lost_brokers.py", 400, variant="[apache-kafka]", soak=True),
    Story("test_operator_lost_brokers.py", 400, variant="[runtime]", soak=True),
    Story("test_operator_lost_brokers.py", 190, "our_broker"),
    Story("test_operator_jbod.py", 400, variant="[runtime]", soak=True),
    Story("test_operator_jbod.py", 400, variant="[apache-kafka]", soak=True),
    Story(CLASSES, 20, "broker_moves"),
    Story(CLASSES, 30, "voter_moves"),
    Story(CLASSES, 165, "maintenance_window", soak=True),
    Story("test_operator_combined.py", 190, variant="[runtime]", soak=True),
    Story("test_operator_combined.py", 300, variant="[apache-kafka]", soak=True),
    Story("test_operator_combined.py", 90, "one_secure_node", "[runtime]", soak=True),
    Story("test_operator_combined.py", 140, "one_secure_node", "[apache-kafka]", soak=True),
    Story("test_operator_ephemeral.py", 170, variant="[runtime]", soak=True),
    Story("test_operator_ephemeral.py", 260, variant="[apache-kafka]", soak=True),
    Story("test_operator_adopts.py", 240, variant="[plaintext]", soak=True),
    Story("test_operator_adopts.py", 240, variant="[tls]", soak=True),
    Story("test_operator_adopts.py", 320, variant="[authorized]", soak=True),
    Story("test_operator_adopts.py", 240, variant="[combined]", soak=True),
    Story("test_operator_upgrade.py", 110, soak=True),
    Story("test_operator_migrates.py", 130),
    Story("test_operator_migrates.py", 90, "taken_back", soak=True),
    Story("test_operator_scales.py", 300, soak=True),
    Story("test_operator_sleeps.py", 900, soak=True),
    *(Story(RECOVERY, seconds, part, "[runtime]") for part, seconds in LOSSES.items()),
    *(
        Story(RECOVERY, seconds * 3 // 2, part, "[apache-kafka]", soak=part == "old_majority")
        for part, seconds in LOSSES.items()
    ),
    Story(ESTATE, 60),
    Story(ESTATE, 20, "client_outside"),
    Story(ESTATE, 70, "load_balancers"),
    Story(ESTATE, 25, "domain_that_holds"),
    Story(ESTATE, 30, "evicting_all"),
    Story(ESTATE, 50, "controller_dead"),
    Story(ESTATE, 45, "controller_that_hangs"),
    *(
        Story(CLUSTER, seconds, part, "[runtime]", always=part == "lost_its_volume")
        for part, seconds in CHAPTERS.items()
    ),
    *(Story(CLUSTER, seconds * 3 // 2, part, "[apache-kafka]") for part, seconds in CHAPTERS.items()),
)

FORMING: Final = {
    ("test_operator_lost_voters.py", ""): 45,
    ("test_operator_mishaps.py", ""): 45,
    ("test_operator_audits.py", ""): 80,
    ("test_operator_archive_copy.py", ""): 110,
    (FROM_ARCHIVE, "[one-controller]"): 40,
    (FROM_ARCHIVE, "[three-controllers]"): 60,
    (RECOVERY, "[runtime]"): 40,
    (RECOVERY, "[apache-kafka]"): 60,
    (CLUSTER, "[runtime]"): 40,
    (CLUSTER, "[apache-kafka]"): 60,
    (ESTATE, ""): 50,
    (CLASSES, ""): 50,
    ("test_operator_migrates.py", ""): 60,
    ("test_operator_secure.py", ""): 50,
}
"""Seconds before the first story of a cluster can begin, where several stories share it."""


def unlisted(folder: Path) -> list[str]:
    return sorted({path.name for path in folder.glob("test_*.py")} - {story.file for story in STORIES})


def advice(files: Iterable[str]) -> str:
    """What whoever adds a test file reads."""
    lines = "\n".join(f'    Story("{name}", <seconds it takes alone>),' for name in files)
    return (
        "tests/e2e has test files that are not in STORIES of tests/support/kubernetes/stories.py:\n"
        f"{lines}\n"
        f"Add such a line for each: `make test` has {BUDGET_S} s for all stories, the run's seed chooses, and it has "
        "to know what each costs (always=True only for the cheap; several stories on one cluster: `part` and FORMING)"
    )


def chosen(seed: int, stories: tuple[Story, ...] = STORIES, budget_s: int = BUDGET_S) -> tuple[Story, ...]:
    """Those that are told always, and of the others as many as the budget holds, cluster by cluster in the seed's
    order.
    """
    chance = random.Random(seed)
    found = [story for story in stories if story.always]
    left = budget_s - sum(story.seconds for story in found) - sum(FORMING.get(each, 0) for each in _clusters(found))
    clusters = _clusters(stories)
    chance.shuffle(clusters)
    for cluster in clusters:
        formed = any(story.cluster == cluster for story in found)
        spent, told = 0 if formed else FORMING.get(cluster, 0), []
        others = [story for story in stories if story.cluster == cluster and not (story.always or story.soak)]
        for story in chance.sample(others, len(others)):
            if spent + story.seconds <= min(left, SHARE_S):
                spent += story.seconds
                told.append(story)
        if told:
            found += told
            left -= spent
    return tuple(story for story in stories if story in found)


def told_by(file: str, test: str, stories: tuple[Story, ...] = STORIES) -> Story | None:
    """The story that a test belongs to: of those of its file (and variant), the one with a part of its name, or the
    rest.
    """
    own = [story for story in stories if story.file == file and story.variant in test]
    named = [story for story in own if story.part and story.part in test]
    return next(iter(named or [story for story in own if not story.part]), None)


def _clusters(stories: Iterable[Story]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(story.cluster for story in stories))
