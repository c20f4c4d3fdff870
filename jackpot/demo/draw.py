"""The floor as lines of a terminal: it fits 80 by 24, and shows more where there is more room."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from rich.text import Text

from drivers.emulator import BoardState, render
from jackpot.config import Link
from jackpot.demo import words
from jackpot.demo.news import Item
from jackpot.demo.place import BOARD_WIDTH
from jackpot.demo.stage import Stage
from jackpot.floor.dealer import Dealer, Sight
from jackpot.formatting.money import grouped
from jackpot.rules.cards import RANKS
from jackpot.rules.megalink import SHARE_PERCENT, Rank

BRIGHT: Final = "bold #e4e4e4"
GOLD: Final = "bold #ffb000"
GREEN: Final = "#5fd75f"
RED: Final = "#ff5f5f"
BLUE: Final = "#5fafff"
QUIET: Final = "#8a8a8a"
FAINT: Final = "#585858"
PHASES: Final = {"open": BLUE, "closed": "#d7af5f", "settled": GREEN, "void": RED}
STATES: Final = {"running": GREEN, "suspended": "#d7af5f", "stopped": RED, "lost": RED}

BOARD_COLUMNS: Final = BOARD_WIDTH * 6 + 2
WIDE: Final = BOARD_COLUMNS + 48
"""From here on the news stand beside the board."""
TABLE_COLUMNS: Final = 38
ABOVE_TABLES: Final = 12
"""Rows of links, board and rule."""
NEWS_MIN: Final = 5
"""Rows that are kept for them before tables get a second row each."""
SLOW_S: Final = 1.0
KEYS: Final = (("q", "quit"), ("l", "luck"), ("b", "board"), ("k", "kill -9"), ("?", "try this"))

Lines = list[Text]


def picture(stage: Stage, columns: int, rows: int, elapsed_s: float) -> Text:
    """Everything, in just so many columns and rows."""
    head = [_header(stage, columns, elapsed_s)]
    foot = [_books(stage), _speed(stage), _keys(stage, columns)]
    room = rows - len(head) - len(foot)
    tall = ABOVE_TABLES + 2 * len(stage.floor.dealers)
    if columns >= WIDE:
        side = columns - BOARD_COLUMNS - 2
        left = _floor(stage, BOARD_COLUMNS, tall=room >= tall)
        right = [_rule("awards", side), *_news(stage, side, room - 1)]
        body = _beside(_fit(left, BOARD_COLUMNS, room), right, BOARD_COLUMNS + 2)
    else:
        body = _floor(stage, columns, tall=room >= tall + NEWS_MIN)
        if (left_over := room - len(body) - 1) > 0:
            body += [_rule("awards", columns), *_news(stage, columns, left_over)]
    return Text("\n").join(_fit([*head, *_fit(body, columns, room), *foot], columns, rows))


def help_pages(stage: Stage, columns: int, rows: int) -> list[Text]:
    """What runs where and what to try, on as many pages as it takes."""
    blocks = [[Text("What runs where", GOLD), *(_named(name, value) for name, value in words.where(stage)), Text()]]
    blocks[0].append(Text("Things to try, in another terminal", GOLD))
    for name, line in words.to_try(stage):
        blocks.append([Text(f" # {name}", QUIET), *(Text(f" {part}") for part in words.wrapped(line, columns - 2))])
    pages: list[Lines] = [[]]
    for block in blocks:
        if len(pages[-1]) + len(block) > rows - 1:
            pages.append([])
        pages[-1] += block
    foot = Text(" ?: more, or back to the floor", BLUE)
    return [Text("\n").join([*_fit(page, columns, rows - 1), foot]) for page in pages]


def _named(name: str, value: str) -> Text:
    return Text.assemble((f" {name:10}", QUIET), value)


# -- the parts ------------------------------------------------------------------------------------------------------


def _header(stage: Stage, columns: int, elapsed_s: float) -> Text:
    minutes, seconds = divmod(int(elapsed_s), 60)
    daemon = (f"● daemon {stage.daemon.pid}", GREEN) if stage.daemon.ready else ("○ daemon starts", RED)
    right = Text.assemble(daemon, (f"  {minutes:02d}:{seconds:02d}", QUIET))
    login = f"manager, {stage.password}"
    left = Text.assemble((" jackpot", BRIGHT), (f"  http://{stage.config.http.listen}  {login}", QUIET))
    return _apart(left, right, columns) or left


def _links(stage: Stage, columns: int) -> Lines:
    each = columns // len(stage.config.links)
    return _side_by_side([_link(stage, link) for link in stage.config.links], each)


def _link(stage: Stage, link: Link) -> Lines:
    state = stage.feed.latest.get(("status", link.id), {}).get("state", "lost")
    meter = stage.feed.latest.get(("meter", link.id))
    name = Text.assemble((f" {link.id.upper()} ", BRIGHT))
    if meter is None:
        return [name.append("no meter", RED), Text(" ---", QUIET)]
    if meter["pending"]:
        first = meter["pending"][0]
        name.append(f"held: {first['table']} {words.rank_name(first['rank'])}", RED)
    else:
        name.append(state, STATES.get(state, RED))
    shown = Text.assemble((f" {words.amount(meter['displayed_cents'], link.currency)}", GOLD))
    return [name, shown.append(f"  entry {meter['entry']:,}", FAINT)]


def _board(stage: Stage, columns: int) -> Lines:
    state = stage.board.state() if stage.board.plugged else BoardState("", BOARD_WIDTH)
    drawn = render(state, columns, asyncio.get_running_loop().time()).split("\n")
    margin = " " * ((columns - drawn[0].cell_len) // 2)
    return [Text(margin).append_text(line) for line in drawn]


def _floor(stage: Stage, columns: int, *, tall: bool) -> Lines:
    dealers = stage.floor.dealers
    lines = [*_links(stage, columns), *_board(stage, columns), _rule("tables", columns)]
    if tall:
        return lines + [line for dealer in dealers for line in (_table(dealer), _hands(dealer.sight))]
    if columns < 2 * TABLE_COLUMNS:
        return lines + [_table(dealer) for dealer in dealers]
    half = -(-len(dealers) // 2)
    pairs = zip_longest(dealers[:half], dealers[half:])
    return lines + [
        _beside([_table(left)], [_table(right)] if right else [], columns // 2)[0] for left, right in pairs if left
    ]


def _table(dealer: Dealer) -> Text:
    """Name, wagers by position, how far the round is, and the cards that were dealt last."""
    sight = dealer.sight
    line = Text.assemble((f" {dealer.table.id:7}", BRIGHT))
    for position in range(1, dealer.table.positions + 1):
        line.append(*_wager(sight, position))
    line.append(" " * (9 - dealer.table.positions))
    if dealer.waited_s() > SLOW_S:
        return line.append(f"waits {dealer.waited_s():.0f} s", RED)
    line.append(f"{sight.phase:8}", PHASES.get(sight.phase, QUIET))
    return line.append_text(_cards(sight.community or _last_hand(sight)))


def _wager(sight: Sight, position: int) -> tuple[str, str]:
    multiplier, rank = sight.wagers.get(position), sight.ranks.get(position, Rank.NONE)
    if multiplier is None:
        return "·", FAINT
    if rank is Rank.NONE:
        return str(multiplier), QUIET if position in sight.hands else BRIGHT
    return str(multiplier), f"reverse {_rank_style(rank)}"


def _hands(sight: Sight) -> Text:
    """Every position's own cards, on a line of its own; of a winner also what he holds."""
    line = Text(" " * 8)
    for position, cards in sight.hands.items():
        rank = sight.ranks.get(position, Rank.NONE)
        if rank is not Rank.NONE:
            line.append(f"{words.rank_name(rank)} ", _rank_style(rank))
        line.append_text(_cards(cards, gap="")).append("  ")
    return line


def _last_hand(sight: Sight) -> Sequence[str]:
    return next(reversed(sight.hands.values()), ())


def _cards(cards: Iterable[str], gap: str = " ") -> Text:
    red = {"h", "d"}
    shown = [Text(card[0] + words.SUITS[card[1]], RED if card[1] in red else "#d0d0d0") for card in cards]
    return Text(gap).join(shown)


def _news(stage: Stage, columns: int, room: int) -> Lines:
    """The newest first."""
    currencies = {link.id: link.currency for link in stage.config.links}
    newest = list(stage.news.items)[: -room - 1 : -1]
    lines = [_item(item, currencies, columns) for item in newest]
    return lines or [Text(" a Straight or better comes about every ten seconds; l helps", FAINT)]


def _item(item: Item, currencies: dict[str, str], columns: int) -> Text:
    line = Text.assemble((f" {item.at:%H:%M:%S} ", FAINT))
    award = item.award
    if award is None:
        return line.append(item.text, BLUE)
    rank = Rank(award["rank"])
    style = _rank_style(rank)
    line.append(f"{award['table']:6} {award['position']} ", BRIGHT).append(f"{words.rank_name(rank):16}", style)
    won = Text.assemble((words.amount(award["amount_cents"], currencies[award["link"]]), style), "  ")
    cards = _cards(sorted(item.cards, key=lambda card: RANKS.index(card[0]), reverse=True), gap="")
    full = _apart(line.copy().append_text(cards), won.copy().append(f"{award['rules'][0]:8}", FAINT), columns)
    return full or _apart(line.copy().append_text(cards), won, columns) or line.append_text(won)


def _books(stage: Stage) -> Text:
    """The line that must always hold."""
    if not stage.books.links:
        return Text(" the ledger does not answer", RED)
    line = Text.assemble((" debits = credits", QUIET))
    for link in stage.config.links:
        if book := stage.books.links.get(link.id):
            style, sign = (GREEN, "=") if book.balanced else (RED, "≠")
            books = f"{grouped(book.debits_micros)} {sign} {grouped(book.credits_micros)}"
            line.append(f"  {link.id} ", FAINT).append(books, style)
    return line


def _speed(stage: Stage) -> Text:
    speed, floor = stage.floor.speed(), stage.floor
    events = sum(book.events for book in stage.books.links.values())
    line = Text.assemble(
        (f" {speed.per_second:.0f}", BRIGHT),
        (" events/s  answered in p50 ", QUIET),
        (f"{speed.median_ms:.1f}", BRIGHT),
        (" p99 ", QUIET),
        (f"{speed.p99_ms:.1f}", BRIGHT),
        (f" ms  {floor.rounds:,} rounds  {events:,} events", QUIET),
    )
    if floor.refusals:
        line.append(f"  {len(floor.refusals)} refused", RED)
    return line


def _keys(stage: Stage, columns: int) -> Text:
    keys = Text(" ")
    for key, what in KEYS:
        keys.append(f" {key} ", "reverse").append(f" {what}  ", QUIET)
    return _apart(keys, Text(str(stage.place.data_dir), FAINT), columns) or keys


def _rank_style(rank: Rank) -> str:
    return GOLD if rank in SHARE_PERCENT else f"bold {GREEN}"


# -- lines ----------------------------------------------------------------------------------------------------------


def _rule(title: str, columns: int) -> Text:
    return Text.assemble(("─ ", FAINT), (title, QUIET), (" " + "─" * (columns - len(title) - 3), FAINT))


def _apart(left: Text, right: Text, columns: int) -> Text | None:
    """One at each end; None if there is no room for both."""
    gap = columns - left.cell_len - right.cell_len
    return None if gap < 1 else Text.assemble(left, " " * gap, right)


def _side_by_side(blocks: list[Lines], columns: int) -> Lines:
    lines = blocks[0]
    for place, block in enumerate(blocks[1:], start=1):
        lines = _beside(lines, block, columns * place)
    return lines


def _beside(left: Lines, right: Lines, columns: int) -> Lines:
    """The right ones begin at that column."""
    lines = []
    for one, other in zip_longest(left, right):
        line = one.copy() if one is not None else Text()
        line.truncate(columns - 1, pad=True)
        lines.append(Text.assemble(line, " ", other or Text()))
    return lines


def _fit(lines: Lines, columns: int, rows: int) -> Lines:
    for line in lines:
        line.truncate(columns, overflow="ellipsis")
    return [*lines[:rows], *(Text() for _ in range(rows - len(lines)))]
