"""Dependencies point inward: rules <- contract <- link <- ledger <- daemon <- cli."""

import ast
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

INNER: Mapping[str, set[str]] = {
    "drivers": set(),
    "errors": set(),
    "logs": {"errors"},
    "metrics": {"errors"},
    "rules": set(),
    "contract": {"rules"},
    "link": {"contract", "rules"},
    "formatting": {"link", "rules"},
    "mqtt": {"errors", "metrics"},
    "config": {"contract", "drivers", "errors", "link", "rules"},
    "ledger": {"contract", "errors", "link", "metrics", "rules"},
    "pki": {"config", "errors", "ledger", "metrics"},
    "embedded": {"config", "errors", "mqtt", "pki"},
    "people": {"contract", "errors", "ledger", "link"},
    "signs": {"config", "contract", "drivers", "errors", "logs", "metrics", "mqtt"},
    "finance": {"config", "contract", "errors", "formatting", "ledger", "link", "rules"},
    "floor": {"config", "contract", "errors", "mqtt", "rules"},
    "console": {
        "config", "contract", "errors", "finance", "formatting", "ledger", "link", "logs", "metrics", "people",
        "rules", "signs",
    },
    "daemon": {
        "config", "console", "contract", "embedded", "errors", "ledger", "link", "logs", "metrics", "mqtt", "people",
        "pki", "rules", "signs",
    },
}  # fmt: skip
OUTER = {"demo", "bench"}
MAY_USE = {**INNER, **{room: set(INNER) for room in OUTER}, "cli": {*INNER, *OUTER}}
"""Each package or module below jackpot, and drivers; a new one must find its place here."""

CLOSED = {
    ("console", "jackpot.ledger.post"): "the console changes money only by commands to the daemon",
}

PURE = {"rules", "contract", "link"}
IMPURE_MODULES = {
    "asyncio", "asyncpg", "logging", "multiprocessing", "os", "pathlib", "random", "socket", "sqlalchemy", "structlog",
    "subprocess", "threading", "time",
}  # fmt: skip
IMPURE_CALLS = {"now", "utcnow", "today"}

TOP_LEVEL = {
    "pyproject.toml", "requirements.lock", "jackpot", "drivers", "deploy", "tests", "README.md", "LICENSE", "CHANGELOG.md",
    "CONTRIBUTING.md", "Makefile",
}  # fmt: skip


def sources() -> dict[str, str]:
    """Every module of the product by its dotted name; a package's own module ends in `__init__`."""
    files = sorted(path for top in ("jackpot", "drivers") for path in (ROOT / top).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text() for path in files}


def room(module: str) -> str:
    """The package below jackpot that a module belongs to; `drivers` stands beside jackpot."""
    first, *rest = module.split(".")
    return rest[0] if first == "jackpot" and rest else first


def imported(module: str, tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module imports, each name of a `from` import by itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            origin = ".".join([*above, node.module] if node.module else above)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def lies_in(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def breaches_of(module: str, source: str) -> Iterator[str]:
    here, tree = room(module), ast.parse(source)
    if here not in MAY_USE and module != "jackpot.__init__":
        yield f"{module}: {here} has no place in the table of layers"
        return
    for name in imported(module, tree):
        there = room(name)
        if name in {"jackpot", "jackpot.__version__"}:
            continue  # the package itself holds nothing else
        if lies_in(name, "jackpot") or lies_in(name, "drivers"):
            if there != here and there not in MAY_USE.get(here, ()):
                yield f"{module}: {here} may not use {there}"
            for (user, closed), reason in CLOSED.items():
                if here == user and lies_in(name, closed):
                    yield f"{module}: {reason}"
        elif here in PURE and name.partition(".")[0] in IMPURE_MODULES:
            yield f"{module}: {here} is pure, without {name.partition('.')[0]}"
        if name in {"os.environ", "os.getenv"} and here != "config":
            yield f"{module}: only config reads the environment"
    for node in ast.walk(tree):
        match node:
            case ast.Assert():
                yield f"{module}: line {node.lineno} asserts, which python -O leaves out; raise instead"
            case ast.Attribute(attr="environ" | "getenv") if here != "config":
                yield f"{module}: only config reads the environment"
            case ast.Call(func=ast.Attribute(attr=called)) if here in PURE and called in IMPURE_CALLS:
                yield f"{module}: {here} is pure, time is passed in"
            case ast.Call(func=ast.Name(id="open" | "input" | "print")) if here in PURE:
                yield f"{module}: {here} is pure, it reads and writes nothing"


@pytest.mark.parametrize(("module", "source"), sources().items(), ids=sources())
def test_a_module_uses_only_what_lies_further_in(module: str, source: str) -> None:
    assert list(breaches_of(module, source)) == []


@pytest.mark.parametrize(
    ("module", "source", "breach"),
    [
        ("jackpot.rules.cards", "from jackpot.link import money", "rules may not use link"),
        ("jackpot.rules.cards", "import jackpot.link.money", "rules may not use link"),
        ("jackpot.link.pool", "from jackpot.ledger.post import post", "link may not use ledger"),
        ("jackpot.ledger.post", "def late():\n    import jackpot.mqtt", "ledger may not use mqtt"),
        ("jackpot.contract.codec", "from jackpot import ledger", "contract may not use ledger"),
        ("jackpot.contract.codec", "from ..ledger import post", "contract may not use ledger"),
        ("jackpot.mqtt.__init__", "from .. import daemon", "mqtt may not use daemon"),
        ("jackpot.console.app", "from jackpot.daemon.service import serve", "console may not use daemon"),
        ("jackpot.daemon.service", "from jackpot.cli import main", "daemon may not use cli"),
        ("jackpot.floor.table", "import jackpot.ledger", "floor may not use ledger"),
        ("jackpot.finance.day", "import jackpot.daemon", "finance may not use daemon"),
        ("jackpot.__init__", "import jackpot.rules", "may not use rules"),
        ("drivers.alpha", "from jackpot.errors import UserError", "drivers may not use errors"),
        ("jackpot.console.app", "from jackpot.ledger.post import post", "only by commands to the daemon"),
        ("jackpot.console.app", "from jackpot.ledger import post", "only by commands to the daemon"),
        ("jackpot.console.app", "import jackpot.ledger.post as p", "only by commands to the daemon"),
        ("jackpot.attic.chest", "", "attic has no place in the table of layers"),
        ("jackpot.rules.cards", "import random", "rules is pure, without random"),
        ("jackpot.link.pool", "from asyncio import sleep", "link is pure, without asyncio"),
        ("jackpot.link.pool", "import sqlalchemy.orm", "link is pure, without sqlalchemy"),
        ("jackpot.link.pool", "from datetime import datetime\nat = datetime.now()", "time is passed in"),
        ("jackpot.link.pool", "open('pool')", "it reads and writes nothing"),
        ("jackpot.daemon.batch_processor", "import os\nos.environ['HOME']", "only config reads the environment"),
        ("jackpot.daemon.batch_processor", "from os import getenv", "only config reads the environment"),
        ("drivers.line", "import os\nos.getenv('HOME')", "only config reads the environment"),
        ("jackpot.daemon.batch_processor", "assert True", "raise instead"),
    ],
)
def test_a_planted_breach_is_found(module: str, source: str, breach: str) -> None:
    assert any(breach in found for found in breaches_of(module, source))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "jackpot.link.pool",
            "from datetime import datetime\nfrom jackpot.rules.cards import Card\nimport jackpot.link",
        ),
        ("jackpot.console.app", "from jackpot.ledger.read import rounds\nfrom jackpot.ledger.postings import x"),
        ("jackpot.config", "import os\nos.environ"),
        ("jackpot.contract.codec", "import jackpot\nfrom jackpot import __version__"),
        ("jackpot.link.pool", "def f():\n    raise ValueError"),
    ],
)
def test_what_is_allowed_is_no_breach(module: str, source: str) -> None:
    assert list(breaches_of(module, source)) == []


def test_the_table_goes_round_in_no_circle() -> None:
    placed: set[str] = set()
    while ready := {name for name, uses in MAY_USE.items() if name not in placed and uses <= placed}:
        placed |= ready
    assert placed == set(MAY_USE)


def strangers(names: set[str]) -> set[str]:
    return {name for name in names if name not in TOP_LEVEL and not name.startswith(".")}


def test_the_top_level_holds_only_what_belongs_there() -> None:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("without git, what it ignores cannot be told from what does not belong")
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True)
    assert strangers({line.split("/")[0].strip('"') for line in listed.stdout.splitlines()}) == set()


def test_a_stranger_on_the_top_level_is_found() -> None:
    assert strangers({"jackpot", ".ci", "utils"}) == {"utils"}
