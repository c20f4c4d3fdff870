"""What a link is told when a daemon begins to lead it: that it is opened, once, and its tables whenever they change."""

import uuid

import structlog

from jackpot.config import Config, Link
from jackpot.link.commands import AnyCommand, LinkOpened, TablesConfigured, parameters_document
from jackpot.link.state import LinkState

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
    tables = [{"id": table.id, "game": table.game, "positions": table.positions} for table in config.tables_of(link.id)]
    if tables != state.tables_document():
        reason = "tables of the configuration"
        found.append(TablesConfigured(id=str(uuid.uuid4()), by=CONTROLLER, reason=reason, tables=tables))
    return found
