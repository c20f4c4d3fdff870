"""What a link is told when a daemon begins to lead it: that it is opened, once, and its tables whenever they change."""

import uuid

import structlog

from jackpot.config import Config, Link
from jackpot.link.commands import AnyCommand, LinkOpened, TablesConfigured, parameters_document, tables_from_now_on
from jackpot.link.state import LinkState, Table, tables_document
from jackpot.rules.megalink import GAMES

CONTROLLER = "controller"

log = structlog.get_logger()


def first_commands(link: Link, config: Config, state: LinkState) -> list[AnyCommand]:
    found: list[AnyCommand] = []
    if state.parameters_version == 0:
        reason = "seen for the first time in the configuration"
        parameters = parameters_document(link.parameters)
        found.append(LinkOpened(id=str(uuid.uuid4()), by=CONTROLLER, reason=reason, parameters=parameters))
    elif state.parameters != link.parameters:
        log.warning(
            "parameters_differ",
            link=link.id,
            in_force=parameters_document(state.parameters),
            configured=parameters_document(link.parameters),
            hint="the file changes nothing on a link that exists; propose the change in the console",
        )
    tables = configured_tables(link, config)
    if tables_from_now_on(state, tables) != tuple(state.tables.values()):
        document = tables_document(tables)
        reason = "tables of the configuration"
        found.append(TablesConfigured(id=str(uuid.uuid4()), by=CONTROLLER, reason=reason, tables=document))
    return found


def configured_tables(link: Link, config: Config) -> tuple[Table, ...]:
    return tuple(Table(table.id, GAMES[table.game], table.positions) for table in config.tables_of(link.id))
