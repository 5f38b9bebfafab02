"""`kafka-configs`: describe and change configurations, quotas and SCRAM credentials.

What is wrong with the command is said alone on standard error; what the cluster refuses comes after `Error while
executing config command with args '...'`, exit code 1 in both cases, as Kafka's tool does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller_runtime.admin.client import AdminClient
from controller_runtime.cli import config_quotas, config_resources
from controller_runtime.cli.admin_tools import (
    AdminError,
    ApiError,
    BadCommand,
    Failed,
    complain,
    exception_text,
    with_admin,
)
from controller_runtime.cli.bootstrap import NoSuchConfig
from controller_runtime.cli.config_quotas import IP_QUOTAS, USER_AND_CLIENT_QUOTAS
from controller_runtime.cli.config_resources import SOURCES, Entry
from controller_runtime.cli.configs_options import OPTIONS, Entities, added, check, deleted, entities_of
from controller_runtime.cli.options import BadOption, Given
from controller_runtime.metadata.scram import BY_NAME


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        entities = entities_of(given, argv)
        _check_bootstrap(given)
        check(given, entities)
        servers, controllers = given.value("bootstrap-server"), given.value("bootstrap-controller")
        changes = _changes(given, entities) if given.has("alter") else None
        everything = given.has("all")

        async def act(admin: AdminClient) -> None:
            if changes is not None:
                await _alter(admin, entities, *changes)
            else:
                await _describe(admin, entities, everything=everything)

        return with_admin(servers, controllers, given.value("command-config"), act)
    except NoSuchConfig as error:
        return _executing(argv, f"java.nio.file.NoSuchFileException: {error.path}")
    except (BadOption, BadCommand, Failed) as error:
        return complain(error)
    except (ApiError, AdminError) as error:
        return _executing(argv, f"java.util.concurrent.ExecutionException: {exception_text(error)}")


def _executing(argv: Sequence[str], error: str) -> int:
    return complain(f"Error while executing config command with args '{' '.join(argv)}'\n{error}")


def _check_bootstrap(given: Given) -> None:
    if given.has("bootstrap-server") == given.has("bootstrap-controller"):
        if any(map(given.has, ("alter", "describe"))):
            if given.has("bootstrap-server"):
                raise Failed("Only one of --bootstrap-server or --bootstrap-controller can be specified")
            raise Failed("Either --bootstrap-server or --bootstrap-controller must be specified.")


Changes = tuple[Mapping[str, str], Sequence[str]]


def _changes(given: Given, entities: Entities) -> Changes:
    """Raises Failed."""
    if len(entities.types) != len(entities.names):
        raise Failed("An entity name must be specified for every entity type")
    changes = added(given), deleted(given)
    if entities.types[0] in {"users", "clients"}:
        _check_client(entities, *changes)
    strangers = [name for name in (*changes[0], *changes[1]) if name not in IP_QUOTAS]
    if entities.types[0] == "ips" and strangers:
        only = "Only connection quota configs can be added for 'ips' using --bootstrap-server"
        raise Failed(f"{only}. Unexpected config names: {','.join(strangers)}")
    return changes


def _check_client(entities: Entities, new: Mapping[str, str], old: Sequence[str]) -> None:
    """Quotas for clients, quotas or credentials for users."""
    clients = entities.types[0] == "clients" or len(entities.types) == 2
    kind, what = ("clients", "quota") if clients else ("users", "quota and SCRAM credential")
    known = USER_AND_CLIENT_QUOTAS if clients else (*USER_AND_CLIENT_QUOTAS, *BY_NAME)
    for names, verb, shown in ((list(new), "added", "Set"), (list(old), "deleted", "ArrayBuffer")):
        strangers = [name for name in names if name not in known]
        if strangers:
            only = f"Only {what} configs can be {verb} for '{kind}' using --bootstrap-server"
            raise Failed(f"{only}. Unexpected config names: {shown}({', '.join(strangers)})")
    every = (*new, *old)
    if any(name in BY_NAME for name in every):
        if "" in entities.names:
            flags = "The use of --entity-default or --user-defaults is not allowed"
            raise Failed(f"{flags} with User SCRAM Credentials using --bootstrap-server.")
        if any(name in USER_AND_CLIENT_QUOTAS for name in every):
            both = "Cannot alter both quota and SCRAM credential configs simultaneously"
            raise Failed(f"{both} for 'users' using --bootstrap-server.")
        config_quotas.upsertions(entities.names[0], new)


async def _alter(admin: AdminClient, entities: Entities, new: Mapping[str, str], old: Sequence[str]) -> None:
    kind, name = entities.types[0], entities.names[0]
    if kind in config_resources.KINDS:
        await _alter_resource(admin, kind, name, new, old)
    elif kind == "users" and any(one in BY_NAME for one in (*new, *old)):
        await config_quotas.alter_scram(admin, name, new, old)
    else:
        await config_quotas.alter_quotas(admin, entities.types, entities.names, new, old)
    done = f"config for {kind[:-1]} {name}" if name else f"default config for {kind} in the cluster"
    print(f"Completed updating {done}.")


async def _alter_resource(admin: AdminClient, kind: str, name: str, new: Mapping[str, str], old: Sequence[str]) -> None:
    if kind == "broker-loggers":
        known = {one.name for one in await config_resources.describe(admin, kind, name, synonyms=False)}
        strangers = [one for one in (*old, *new) if one not in known]
        if strangers:
            raise Failed(f"Invalid broker logger(s): {','.join(strangers)}")
    await config_resources.alter(admin, kind, name, new, old)


async def _describe(admin: AdminClient, entities: Entities, *, everything: bool) -> None:
    kind = entities.types[0]
    if kind in config_resources.KINDS:
        own = entities.names[0] if entities.names else ""
        if own and not everything and not await config_resources.is_known(admin, kind, own):
            print(f"The {kind[:-1]} '{own}' doesn't exist and doesn't have dynamic config.")
            return
        for name in entities.names[:1] or await config_resources.names(admin, kind):
            await _describe_resource(admin, kind, name, everything=everything)
        return
    for entity, quotas in await config_quotas.quotas_of(admin, entities.types, entities.names):
        print(config_quotas.quota_line(entity, quotas))
    if kind == "users" and "clients" not in entities.types and "" not in entities.names:
        for line in await config_quotas.scram_lines(admin, entities.names):
            print(line)


async def _describe_resource(admin: AdminClient, kind: str, name: str, *, everything: bool) -> None:
    which = "All" if everything else "Dynamic"
    print(f"{which} configs for {kind[:-1]} {name} are:" if name else f"Default configs for {kind} in the cluster are:")
    for entry in await config_resources.describe(admin, kind, name, everything=everything):
        print(entry_line(entry))


def entry_line(entry: Entry) -> str:
    synonyms = ", ".join(f"{SOURCES[one.source]}:{one.name}={_value(one.value)}" for one in entry.synonyms)
    sensitive = "true" if entry.is_sensitive else "false"
    return f"  {entry.name}={_value(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _value(value: str | None) -> str:
    return "null" if value is None else value
