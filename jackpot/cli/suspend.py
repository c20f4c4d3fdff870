from jackpot.cli.commands import give_order, identity
from jackpot.cli.options import ConfigOption, LinkOption, ReasonOption
from jackpot.link.commands import LinkSuspended


def command(config: ConfigOption, link: LinkOption, reason: ReasonOption) -> None:
    """Stop play on a link: every new event but `award.paid` is refused until it is resumed."""
    give_order(config, link, LinkSuspended(reason=reason, **identity()))
