"""The contract's topics. An answer goes beside the topic its event came on, never where a message says."""

ROOT = "jackpot/v1"


def events(link: str, table: str) -> str:
    return f"{ROOT}/{link}/tables/{table}/events"


def replies(link: str, table: str) -> str:
    return f"{ROOT}/{link}/tables/{table}/replies"


def state(link: str, table: str) -> str:
    return f"{ROOT}/{link}/tables/{table}/state"


def meter(link: str) -> str:
    return f"{ROOT}/{link}/meter"


def awards(link: str) -> str:
    return f"{ROOT}/{link}/awards"


def status(link: str) -> str:
    return f"{ROOT}/{link}/status"


def head(link: str) -> str:
    return f"{ROOT}/{link}/head"


def table_of(topic: str) -> tuple[str, str]:
    """Link and table of an events topic."""
    _, _, link, _, table, _ = topic.split("/")
    return link, table
