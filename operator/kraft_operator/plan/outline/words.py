"""Steps in the words in which they lie ahead: without the numbers that are true only when they are taken.

While a step is taken, its action's own reason stands in its place (`published`). What a step is called (`id`) must not
depend on anything that changes while it is waited for: an approval names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kraft_operator.actions import CordonBroker
from kraft_operator.api.roles import controls, serves
from kraft_operator.api.security import Stage
from kraft_operator.api.spec import Drain, Group, LifecycleState
from kraft_operator.credentials import EnterStage, Turn, TurnAuthority
from kraft_operator.observed import Pod
from kraft_operator.plan.giving_up import is_forced
from kraft_operator.plan.nodes.drain import some
from kraft_operator.plan.operating.running import broker_to_replace
from kraft_operator.plan.securing import WORDS
from kraft_operator.plan.situation import Situation
from kraft_operator.plan.steps import PlanStep, Risk, digest
from kraft_operator.removals import DropVolume, EmptyDirectory

FORM_QUORUM: Final = "form-quorum"
CONFIGS: Final = "configs"


# children and nodes


def configs(now: Situation) -> PlanStep:
    reason = "they say where the controllers are, and no pod is restarted for it"
    return PlanStep(CONFIGS, "ApplyConfigs", f"ConfigMaps of the nodes of {now.cluster.name}", reason)


def node(now: Situation, node_id: int, name: str, reason: str) -> PlanStep:
    """Its StatefulSet as it should be."""
    node_set, why, gate = now.observed.node_set(node_id), f"its StatefulSet: {reason}", ""
    if node_set is None and now.observed.pod(node_id) is not None:
        why, gate = "its StatefulSet is missing; it adopts the pod", "the set with the old template is gone"
    if node_set is not None and node_set.replicas == 0:
        why = "it is started again"
    return PlanStep(f"apply-node/{node_id}", "ApplyNode", name, why, gate)


def node_deleted(node_id: int, name: str) -> PlanStep:
    gate = "it is no voter and not registered any more"
    reason = "nothing wants its StatefulSet any more; its volume stays"
    return PlanStep(f"delete-node/{node_id}", "DeleteNode", name, reason, gate, risk=Risk.AVAILABILITY)


def held(now: Situation, node_id: int, name: str) -> PlanStep:
    reason = "its pod shuts down, its disk stays"
    gate = _asleep(now, node_id) if now.cluster.spec.lifecycle is LifecycleState.HIBERNATED else _away(now, node_id)
    return PlanStep(f"hold/{node_id}", "HoldNode", name, reason, gate, risk=Risk.AVAILABILITY)


def _asleep(now: Situation, node_id: int) -> str:
    if node_id not in now.cluster.spec.controllers.node_ids:
        return ""
    leads = node_id == now.observed.quorum.leader_id
    return f"no {'follower' if leads else 'broker'} is awake any more"


def _away(now: Situation, node_id: int) -> str:
    running, pool = broker_to_replace(now), pool_of(now, node_id)
    if running is not None and running.node_id == node_id:
        return "another replica of every partition that it holds is in sync"
    if pool is None or now.ledger is None or node_id in pool.node_ids:
        return ""
    return "what it holds is given up" if is_forced(now.ledger, node_id) else _drained(pool)


def pool_of(now: Situation, node_id: int) -> Group | None:
    """Of a broker, one that leaves too."""
    entry, node_set = now.ledger.entry(node_id) if now.ledger else None, now.observed.node_set(node_id)
    name = entry.pool if entry is not None else node_set.pool if node_set is not None else ""
    return next((each for each in now.cluster.spec.broker_pools if each.name == name), None)


def _drained(pool: Group) -> str:
    return "it holds no replica" + (", or what it holds is given up" if pool.scale_down.drain is Drain.FORCE else "")


def restarted(pod: Pod, reason: str, stage: str = "") -> PlanStep:
    """`stage` of a cluster that becomes secure."""
    controller = controls(pod)
    gates = ["the voter before it is live again, and without this one a majority is (L4)"] if controller else []
    gates += ["every other broker serves, and no partition is left with too few replicas in sync"] * serves(pod)
    gate = "; ".join(gates)
    return PlanStep(
        f"restart/{pod.node_id}" + (f"/{stage}" if stage else ""), "RestartPod", f"Pod/{pod.name}", reason, gate,
        lemma="L4" if controller else "", risk=Risk.AVAILABILITY,
    )  # fmt: skip


# disks


def granted(pod: str, node_id: int, volume: str = "") -> PlanStep:
    gate = "its guard saw an empty disk on a claim that is bound; the grant holds for that disk only"
    if volume:
        reason = f"volume {volume} has no directory yet"
        return PlanStep(f"grant/{node_id}/{volume}", "FormatDisk", pod, reason, gate)
    return PlanStep(f"grant/{node_id}", "FormatDisk", pod, "it has no directory yet", gate)


def volume_made(node_id: int, volume: str, claim: str) -> PlanStep:
    about = f"PersistentVolumeClaim/{claim}"
    return PlanStep(f"make-volume/{node_id}/{volume}", "ApplyChild", about, f"the node has no volume {volume} yet")


def discarded(node_id: int, claim: str) -> PlanStep:
    reason = "it holds, or is bound to, a directory that was given up"
    gate = "its directory is written off in the ledger"
    about = f"PersistentVolumeClaim/{claim}"
    return PlanStep(f"discard/{node_id}", "DiscardClaim", about, reason, gate, risk=Risk.DATA_LOSS)


def grown(node_id: int, claim: str, size: str, volume: str = "") -> PlanStep:
    target, step = f"PersistentVolumeClaim/{claim}", f"grow/{node_id}{f'/{volume}' if volume else ''}"
    return PlanStep(step, "GrowClaim", target, f"the resource asks for {size}", "its class allows it to expand")


def made_anew(node_id: int, name: str) -> PlanStep:
    reason = "its claim template cannot be changed; it is deleted without its pod"
    gate = "its claim asks for the new size, or the next one is of another class"
    return PlanStep(f"remake-set/{node_id}", "OrphanSet", f"StatefulSet/{name}", reason, gate)


# voters


def formed(voters: Sequence[int]) -> PlanStep:
    gate = "every disk that could hold an older quorum was seen to be empty"
    who = f"voters {', '.join(map(str, voters))}"
    return PlanStep(FORM_QUORUM, "FormQuorum", who, "they are named once, as they are formatted", gate)


def removed(node_id: int, directory_id: str, *, live: bool, reason: str) -> PlanStep:
    gate = (
        "the controllers that are asked for are live voters, and of those that remain a majority is live (L3)"
        if live
        else "the quorum knows it to be dead, and of those that remain a majority is live (L1)"
    )
    return PlanStep(
        f"remove-voter/{node_id}/{directory_id}", "RemoveVoter", f"voter {node_id} {directory_id}", reason=reason,
        gate=gate, lemma="L3" if live else "L1", risk=Risk.AVAILABILITY if live else Risk.NONE,
    )  # fmt: skip


def caught_up(node_id: int) -> PlanStep:
    gate = "it follows the leader and holds what was committed a look ago"
    return PlanStep(f"catch-up/{node_id}", "CatchUp", f"controller {node_id}", "it copies the log first", gate)


def added(node_id: int) -> PlanStep:
    gate = "it has caught up, and with it a majority of the voters is live (L2)"
    reason = "the resource asks for it"
    return PlanStep(f"add-voter/{node_id}", "AddVoter", f"voter {node_id}", reason, gate, lemma="L2")


def updated(node_id: int, reason: str) -> PlanStep:
    gate = "it serves where its pod is, and no other change of the voters is under way"
    return PlanStep(f"update-voter/{node_id}", "UpdateVoter", f"voter {node_id}", reason, gate)


# the authority


ROTATE: Final = "rotate-authority"
TURNS: Final = {
    Turn.TRUST: ("a new authority is made, and trusted beside the old one", "every certificate is good"),
    Turn.ISSUE: ("the new authority signs from then on, and the old one's key is thrown away",
        "every node was seen to trust both, and clients had time to (C1)"),
    Turn.FORGET: ("the old authority is not trusted any more",
        "every node was seen to show a certificate of the new one, and clients had time to (C2)"),
}  # fmt: skip


def turned(action: TurnAuthority) -> PlanStep:
    reason, gate = TURNS[action.turn]
    name = f"{ROTATE}/of-{action.replaced[:12]}/{action.turn.value}"
    lemma = {Turn.ISSUE: "C1", Turn.FORGET: "C2"}.get(action.turn, "")
    return PlanStep(name, "RotateAuthority", f"Secret/{action.secret}", reason, gate, lemma=lemma)


# the way to a secure cluster


SECURE: Final = "secure"


def entered(action: EnterStage, name: str) -> PlanStep:
    stage = Stage[action.stage.upper()]
    lemma = {} if action.back else {Stage.TURNED: "G1", Stage.CLOSED: "G2"}
    forward = {
        Stage.PREPARED: "every pod runs the newest revision and every voter is live",
        Stage.LISTENING: "every node has its certificate",
        Stage.TURNED: "every voter shows a certificate on its new listener, and the committed voters name both (G1)",
        Stage.FOLLOWED: "every controller's default is the new listener, and brokers have read the log that says so",
        Stage.REPLICATING: "every broker shows its certificate on its new listener",
        Stage.CLOSED: "nobody has used the plaintext listener for spec.security.tls.migration.quiet (G2)",
        Stage.AUTHORIZED: "the committed voter set names the secure listener only",
        Stage.ENFORCED: "every node asks the authorizer, and spec.security.authorization.mode says so",
    }
    gate = "every node stands on the stage that is left" if action.back else forward.get(stage, "")
    way = f"{SECURE}/{'back-to-' if action.back else ''}{stage.name.lower()}"
    reason = WORDS[stage] if not action.back else "spec.security.tls.mode is Disabled again"
    return PlanStep(way, "EnterStage", f"{name} {action.stage}", reason, gate, lemma=lemma.get(stage, ""),
        risk=Risk.AVAILABILITY if stage is Stage.CLOSED else Risk.NONE)  # fmt: skip


# brokers and versions


def cordoned(node_id: int) -> PlanStep:
    return PlanStep(f"cordon/{node_id}", "CordonBroker", f"broker {node_id}", "it takes no new replicas from then on")


def closed(action: CordonBroker) -> PlanStep:
    where = ", ".join(action.directories)
    name = f"cordon/{action.node_id}/{digest(*action.directories)[:8]}"
    return PlanStep(name, "CordonBroker", f"broker {action.node_id}", f"nothing new comes into {where} from then on")


def removing(action: EmptyDirectory | DropVolume) -> PlanStep:
    match action:
        case EmptyDirectory():
            reason, gate = f"it is to do without volume {action.volume}", "its other volumes have room"
            name = f"empty/{action.node_id}/{action.volume}"
            return PlanStep(name, "EmptyDirectory", f"broker {action.node_id}", reason, gate)
        case DropVolume():
            gate = "every broker of the pool says that its directory is closed and that nothing lies in it (V1)"
            name, reason = f"drop-volume/{action.pool}/{action.volume}", "the resource does without it"
            target = f"volume {action.volume} of pool {action.pool}"
            return PlanStep(name, "DropVolume", target, reason, gate, lemma="V1")


def moved(node_id: int, topics: Sequence[str]) -> PlanStep:
    reason = f"it holds replicas of {some(topics)}"
    return PlanStep(f"move/{node_id}", "MoveReplicas", f"broker {node_id}", reason, "other brokers can take them")


def unregistered(now: Situation, node_id: int, reason: str) -> PlanStep:
    """`reason` where no pool has it any more."""
    pool, gate = pool_of(now, node_id), ""
    if pool is not None and now.ledger is not None and node_id not in pool.node_ids:
        excluded = node_id in pool.excluded_node_ids
        reason = "the resource excludes it" if excluded else "the resource asks for fewer brokers"
        stopped = "it has shut down"
        gate = stopped if is_forced(now.ledger, node_id) else f"{_drained(pool)}, and {stopped}"
    target = f"broker {node_id}"
    return PlanStep(f"unregister/{node_id}", "UnregisterBroker", target, reason, gate, risk=Risk.AVAILABILITY)


def finalized(feature: str, level: int, name: str) -> PlanStep:
    gate = "every node runs its newest revision and supports it, no other node is registered, and the soak time is over"
    reason = "the resource asks for it; it cannot be taken back"
    return PlanStep(f"finalize/{feature}/{level}", "FinalizeFeature", name, reason, gate, risk=Risk.AVAILABILITY)
