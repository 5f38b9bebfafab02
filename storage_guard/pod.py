"""What the kubelet gives a guard: environment, downward API files, the mounted ledger, the journal, the configuration.

Files of volumes are read anew on every look, because the kubelet replaces them while the guard waits. A file that is
missing is absent; one that cannot be understood becomes a problem that holds the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from controller_runtime.storage.filesystem import FileSystem, join, parent, read_whole
from controller_runtime.storage.small_files import write_atomically
from storage_guard.facts import Journal, LedgerFacts, PodFacts
from storage_guard.formats import (
    HOST_IP,
    MAX_FURTHER_VOLUMES,
    NO_RACK,
    BadFormat,
    Grant,
    Identity,
    config_hash,
    of_volume,
)

CONTROLLING: Final = ("controller", "combined")
"""Roles of nodes that are voters, or become such: their disks are formatted as controllers' are."""


class BadEnvironment(ValueError):
    """The pod's manifest is not one of ours; the message names the variable."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables that `kraft_operator.manifests.guards` sets."""

    node_id: int
    cluster_id: str
    is_controller: bool
    log_directory: str
    identity_file: str
    pod_directory: str
    journal_directory: str
    config_template: str
    config_file: str
    config_hash: str
    rack_required: bool
    host_ip: str = ""
    """Of the Kubernetes node, for listeners that are reached by its ports."""
    further: tuple[tuple[str, str], ...] = ()
    """Further volumes of a broker: name and log directory of each."""
    volume: str = ""
    """Which of them this is about; empty for the node's first volume."""

    @property
    def each_further(self) -> Mapping[str, Environment]:
        """As it is for each of them: what is there once for a node is there once for each of its volumes."""
        ledger = parent(self.identity_file)
        return {
            name: replace(
                self,
                log_directory=directory,
                identity_file=join(ledger, f"{of_volume('identity', name)}.json"),
                further=(),
                volume=name,
            )
            for name, directory in self.further
        }

    @classmethod
    def read(cls, values: Mapping[str, str]) -> Self:
        def need(name: str) -> str:
            if not (value := values.get(name, "")):
                raise BadEnvironment(f"{name} is not set")
            return value

        if not (node_id := need("NODE_ID")).isdecimal():
            raise BadEnvironment(f"NODE_ID={node_id} is not a number")
        return cls(
            node_id=int(node_id),
            cluster_id=need("CLUSTER_ID"),
            is_controller=need("NODE_ROLE") in CONTROLLING,
            log_directory=need("LOG_DIRECTORY"),
            identity_file=need("IDENTITY_FILE"),
            pod_directory=need("POD_DIRECTORY"),
            journal_directory=need("JOURNAL_DIRECTORY"),
            config_template=need("CONFIG_TEMPLATE"),
            config_file=need("CONFIG_FILE"),
            config_hash=need("CONFIG_HASH"),
            rack_required=need("RACK") == "Required",
            host_ip=values.get("HOST_IP", ""),
            further=_further(values.get("FURTHER_DIRECTORIES", "")),
        )


def _further(text: str) -> tuple[tuple[str, str], ...]:
    """NAME=DIRECTORY of each, separated by commas."""
    found = [each.partition("=")[::2] for each in text.split(",") if each]
    if len(found) > MAX_FURTHER_VOLUMES or len(dict(found)) != len(found):
        raise BadEnvironment(f"FURTHER_DIRECTORIES={text} names one twice, or more than {MAX_FURTHER_VOLUMES}")
    if any(not (name.isalnum() and directory.startswith("/")) for name, directory in found):
        raise BadEnvironment(f"FURTHER_DIRECTORIES={text} is no list of NAME=/DIRECTORY")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Pod:
    filesystem: FileSystem
    environment: Environment

    def read(self) -> PodFacts:
        """Raises OSError or BadFormat if the downward API volume cannot be read, or does not say who the pod is."""
        environment = self.environment
        grant, problem = None, None
        try:
            text = self._annotation(of_volume("grant", environment.volume))
            grant = Grant.from_json(text) if text else None
        except BadFormat as error:
            problem = str(error)
        if not (uid := self._annotation("uid")):
            raise BadFormat("the downward API volume does not hold the pod's uid")
        return PodFacts(
            uid=uid,
            node_id=environment.node_id,
            cluster_id=environment.cluster_id,
            is_controller=environment.is_controller,
            format_mode=self._annotation("format-mode"),
            grant=grant,
            grant_problem=problem,
        )

    def unknown(self) -> PodFacts:
        """What is known of the pod without its downward API volume: enough to report, not enough to pass."""
        environment = self.environment
        return PodFacts("unknown", environment.node_id, environment.cluster_id, environment.is_controller)

    def read_ledger(self) -> LedgerFacts:
        try:
            text = self._text(self.environment.identity_file)
            return LedgerFacts(Identity.from_json(text) if text else None)
        except (BadFormat, OSError) as error:
            return LedgerFacts(problem=str(error))

    def read_journal(self) -> Journal:
        """Raises BadFormat: a journal that cannot be read must hold the pod, it may tell of a seal."""
        text = self._text(self._journal)
        return Journal.from_json(text) if text else Journal()

    def write_journal(self, journal: Journal) -> None:
        write_atomically(self.filesystem, self._journal, journal.to_json().encode())

    @property
    def _journal(self) -> str:
        name = f"{of_volume('journal', self.environment.volume)}.json"
        return join(self.environment.journal_directory, name)

    def read_rack(self, ledger: LedgerFacts) -> str | None:
        """The rack for this node: this pod's annotation, else what the ledger remembers; NO_RACK for none; None: not
        told yet.
        """
        if not self.environment.rack_required:
            return NO_RACK
        return self._annotation("rack") or (ledger.identity.rack if ledger.identity else None)

    def read_config(self) -> str:
        return self._text(self.environment.config_template)

    def write_config(self, text: str, rack: str) -> str:
        """Put the node's configuration where it will be read from; returns the template's hash."""
        whole = text if rack == NO_RACK else f"{text}broker.rack={rack}\n"
        if host := self.environment.host_ip:
            whole = whole.replace(HOST_IP, f"[{host}]" if ":" in host else host)
        write_atomically(self.filesystem, self.environment.config_file, whole.encode())
        return config_hash(text)

    def _annotation(self, name: str) -> str:
        return self._text(join(self.environment.pod_directory, name)).strip()

    def _text(self, path: str) -> str:
        try:
            return read_whole(self.filesystem, path).decode()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise BadFormat(f"{path}: {error}") from error
