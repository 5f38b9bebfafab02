"""The demo's choice of a Kubernetes, its sentences, and the client's pod."""

import io
from pathlib import Path

import pytest

from deploy.demo import story, target
from deploy.demo.narrator import Narrator
from deploy.demo.target import CommandError, Target, TargetError, from_context, run

pytestmark = pytest.mark.unit


def fake_programs(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_context_of_the_users_needs_to_know_where_the_images_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", fake_programs(tmp_path / "bin", "kubectl", "helm"))
    with pytest.raises(
        TargetError, match="set DEMO_REGISTRY=REGISTRY to where that cluster finds REGISTRY/runtime:dev"
    ):
        from_context("mine", {})
    target = from_context("mine", {"DEMO_REGISTRY": "registry.example.com/team/"})
    assert target.image("operator") == "registry.example.com/team/operator:dev"
    assert (target.kubectl_command, target.helm_command) == (
        ("kubectl", "--context", "mine"),
        ("helm", "--kube-context", "mine"),
    )


def test_a_missing_helm_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", fake_programs(tmp_path / "bin", "kubectl"))
    with pytest.raises(TargetError, match="helm is not on the PATH"):
        from_context("mine", {"DEMO_REGISTRY": "registry.example.com"})


def test_a_command_that_fails_is_told_with_what_it_said() -> None:
    with pytest.raises(CommandError, match=r"sh -c echo no such pod >&2; exit 1\nno such pod"):
        run(("sh", "-c", "echo no such pod >&2; exit 1"), {"PATH": "/usr/bin:/bin"})


def test_every_sentence_carries_the_time_and_a_chapter_its_length() -> None:
    out = io.StringIO()
    narrator = Narrator(out)
    with narrator.chapter("It begins.", "It ends."):
        narrator.detail("a detail")
    first, detail, last = out.getvalue().splitlines()
    assert first.endswith(" s  It begins.")
    assert detail.strip() == "· a detail"
    assert last.endswith("It ends. (0.0 s)")


def test_how_to_go_on_names_the_way_to_look_around_and_to_stop() -> None:
    ours = story.how_to_go_on(Target(("kubectl",), ("helm",), {}, "localhost/quorate", "main"), "quickstart")
    assert "python deploy/devcluster kubectl -n quorate-demo get krc,pods,pvc" in ours
    assert ours.rstrip().endswith("python deploy/devcluster down")
    theirs = story.how_to_go_on(Target(("kubectl", "--context", "mine"), ("helm",), {}, "r", None), "quickstart")
    assert "devcluster" not in theirs
    assert "kubectl --context mine -n quorate-demo get krc" in theirs


def test_ready_is_the_condition_and_nothing_else() -> None:
    assert story.is_ready({"conditions": [{"type": "Stalled", "status": "True"}]}) is False
    assert story.is_ready({"conditions": [{"type": "Ready", "status": "True"}]}) is True
    assert story.is_ready({}) is False


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["quickly"], 2)])
def test_who_asks_for_help_or_mistypes_starts_nothing(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(target, "choose", lambda _: pytest.fail("the demo began"))
    with pytest.raises(SystemExit) as ended:
        story.main(arguments)
    assert ended.value.code == code
    said = capsys.readouterr()
    assert "DEMO_CONTEXT" in said.out or "unrecognized arguments: quickly" in said.err


def test_a_namespace_that_the_demo_did_not_make_is_left_alone(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        '#!/bin/sh\necho "$@" >> "$CALLS"\necho \'{"metadata": {"name": "quorate-demo", "labels": {}}}\'\n'
    )
    kubectl.chmod(0o755)
    calls = tmp_path / "calls"
    users = Target((str(kubectl),), ("helm",), {"PATH": "/usr/bin:/bin", "CALLS": str(calls)}, "r", None)
    with pytest.raises(story.DemoError, match="exists that the demo did not make: it is left alone"):
        story.Demo(users, Narrator(io.StringIO())).forget_earlier_run()
    assert "delete" not in calls.read_text()
