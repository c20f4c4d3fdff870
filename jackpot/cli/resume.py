from jackpot.cli.commands import give_order, identity
from jackpot.cli.options import ConfigOption, LinkOption, ReasonOption
from jackpot.link.commands import LinkResumed


def command(config: ConfigOption, link: LinkOption, reason: ReasonOption) -> None:
    """Let play on a suspended link go on."""
    give_order(config, link, LinkResumed(reason=reason, **identity()))
