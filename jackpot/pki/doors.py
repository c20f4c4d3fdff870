"""What a holder may do at the broker, written as the broker reads it."""

from collections.abc import Iterable

TABLES = """\
# Made by `jackpot pki acl` from the links of the configuration.
# A table writes its own events, on these links alone, and reads its own replies and state. %u is the name in its
# certificate. On links that it invents it could leave as many retained messages as it likes, for ever.
{writes}pattern read jackpot/v1/+/tables/%u/replies
pattern read jackpot/v1/+/tables/%u/state
"""


def tables_list(links: Iterable[str]) -> str:
    """Mosquitto's list for the tables' door."""
    return TABLES.format(writes="".join(f"pattern write jackpot/v1/{link}/tables/%u/events\n" for link in links))
