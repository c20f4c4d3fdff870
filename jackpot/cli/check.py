"""`jackpot check`: the doctor. Looks at everything a daemon needs, and names the fix for what is not right."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import typer
from rich.text import Text

from jackpot.cli.checks import Finding, Verdict, examine
from jackpot.cli.common import run
from jackpot.cli.options import ConfigOption
from jackpot.cli.output import Output, OutputOption, Page
from jackpot.config import Config, load
from jackpot.errors import CheckFailedError, UserError

MARKS: Final = {Verdict.GOOD: ("✓", "green"), Verdict.ODD: ("!", "yellow"), Verdict.BAD: ("✗", "bold red")}


def command(config: ConfigOption, output: OutputOption = Output.TABLE) -> None:
    """Look at configuration, database, ledger, certificates, broker, boards and clock; exit 1 if something is bad."""
    show = _show if output is Output.TABLE else lambda _: None
    if not config.exists():
        raise UserError(f"there is no {config}; name a configuration file with --config")
    try:
        read = load(config)
    except UserError as error:
        findings = [Finding("config", Verdict.BAD, str(error), f"mend {config}")]
        show(findings[0])
    else:
        findings = run(_examine(read, config, show))
    failed = [finding for finding in findings if finding.verdict is Verdict.BAD]
    if output is Output.JSON:
        typer.echo(json.dumps({"passed": not failed, "findings": [asdict(finding) for finding in findings]}))
    if failed:
        raise CheckFailedError(f"{len(failed)} of {len(findings)} checks failed")
    if output is Output.TABLE:
        typer.echo(f"{len(findings)} checks, none failed")


async def _examine(config: Config, path: Path, show: Callable[[Finding], None]) -> list[Finding]:
    """Each is shown as it is found: a broker that does not answer takes a while."""
    findings = []
    async for finding in examine(config, path):
        show(finding)
        findings.append(finding)
    return findings


def _show(finding: Finding) -> None:
    mark, style = MARKS[finding.verdict]
    line = Text.assemble((mark, style), f" {finding.part:10} {finding.found}")
    console = Page()
    console.print(line, soft_wrap=True, highlight=False)
    if finding.fix is not None:
        console.print(Text(f"  {'':10} -> {finding.fix}", style), soft_wrap=True, highlight=False)
