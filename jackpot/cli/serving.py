"""For programs beside the daemon: their series, at an address of their own."""

from typing import Annotated

import typer
from prometheus_client import start_http_server

from jackpot.config import Http, is_address
from jackpot.errors import UserError

ListenOption = Annotated[str | None, typer.Option("--listen", help="Where Prometheus asks, such as 127.0.0.1:9884.")]


def tell_prometheus(listen: str | None) -> None:
    """Answer there from now on; without an address, nowhere."""
    if listen is None:
        return
    if not is_address(listen):
        raise UserError(f"--listen {listen!r} is not an address such as 127.0.0.1:9884")
    at = Http(listen)
    try:
        start_http_server(at.port, at.host)
    except OSError as error:
        raise UserError(f"cannot listen on {listen}: {error}; choose another --listen") from error
