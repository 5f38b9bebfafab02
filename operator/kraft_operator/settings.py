"""What the operator is configured with: who it is, what it watches, how patient it is, and where tests make it stop.

Read once from the command line and the environment by `__main__`; nothing else in the operator looks at the
environment. `Failpoints` exist so that a test can stop or kill the process between two precise steps; without the
variable they do nothing.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from typing import Final

FIELD_MANAGER: Final = "kraft-operator"
REPORTING_CONTROLLER: Final = "kraft.quorate.dev/operator"


class BadSetting(ValueError):
    """A setting that cannot be understood; the message names it."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """client-go's defaults. `renew_deadline` < `duration`, so a holder gives up before anyone may take over."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(frozen=True, slots=True)
class Failpoints:
    """`place=what` pairs, for instance `after_journal.grant=stop,before_call.unregister=exit`; each fires once."""

    armed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Failpoints:
        armed = {}
        for pair in filter(None, (part.strip() for part in text.split(","))):
            place, equals, what = pair.partition("=")
            if not equals or what not in {"stop", "exit"}:
                raise BadSetting(f"failpoint {pair!r}: want PLACE=stop or PLACE=exit")
            armed[place] = what
        return cls(armed)

    def hit(self, place: str) -> None:
        match self.armed.pop(place, None):
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
                time.sleep(0.5)  # the signal is the process's: this very thread may run on for an instant
            case "exit":
                os._exit(86)
            case _:
                return


@dataclass(frozen=True, slots=True)
class Settings:
    identity: str
    lease_namespace: str
    lease_name: str = "kraft-operator"
    namespaces: tuple[str, ...] = ()
    """Empty: every namespace."""
    sees_without_namespace: bool = True
    """Whether it has rights on what has no namespace: volumes, Kubernetes nodes, storage classes, definitions."""
    operator_image: str = "quorate/operator:dev"
    http_port: int = 9404
    workers: int = 4
    resync_seconds: float = 600.0
    probe_seconds: float = 5.0
    """How often a quiet cluster is looked at again; bounds how late `QuorumAvailable` may tell of a loss."""
    replacements_per_hour: int = 10
    """How many replacements of lost voters are begun within an hour in all clusters together; 0: any number."""
    call_timeout: float = 5.0
    """Deadline of one call that changes something; must be shorter than what is left of the Lease."""
    lease: LeaseTimes = LeaseTimes()
    failpoints: Failpoints = field(default_factory=Failpoints)

    def __post_init__(self) -> None:
        """With a Lease that never has time for a call left the operator would lead, and never act."""
        if not self.sees_without_namespace and not self.namespaces:
            raise BadSetting("name the namespaces (--namespace): rights in namespaces only are rights in named ones")
        duration, deadline, retry = self.lease.duration, self.lease.renew_deadline, self.lease.retry_period
        if not duration > deadline > retry > 0:
            raise BadSetting(
                f"lease seconds {duration:g} {deadline:g} {retry:g}: DURATION has to be "
                "longer than RENEW, and RENEW than RETRY"
            )
        if deadline - retry <= self.call_timeout:
            raise BadSetting(
                f"lease seconds {duration:g} {deadline:g} {retry:g}: RENEW has to be longer than RETRY and the "
                f"{self.call_timeout:g} s of one call together"
            )
