"""Trace lines for people: who, in which role and epoch, how far, and what happened, as in a production log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller_runtime.broker.effects import SetAsideStrays
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.server.telemetry.trace import render_effect as render_node_effect
from controller_runtime.server.telemetry.trace import render_event as render_node_event

if TYPE_CHECKING:
    from support.simulation.machine import Machine


def render_state(machine: Machine) -> str:
    node = machine.node
    if node is None:
        return f"n{machine.id} down"
    meta = node.meta
    active = "*" if node.is_active else " "
    return (
        f"n{machine.id} {type(meta.replica.role).__name__[0]}{active} e={meta.replica.epoch} hw={meta.high_watermark} "
        f"leo={meta.end_offset} disk={machine.flushed_offset}"
    )


def render_event(event: NodeEvent) -> str:
    return render_node_event(event)


def render_effect(effect: NodeEffect) -> str:
    if isinstance(effect, SetAsideStrays):  # a set has no order that is the same in every process
        return f"set aside all but {sorted(effect.replicas)}"
    return render_node_effect(effect)
