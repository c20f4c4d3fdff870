"""The pages on a ledger that holds every kind of event: all there, all linked, and the past costs nothing."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from jackpot.ledger.read import reading
from jackpot.people.roles import Role
from tests.console.console_client import DAY, ConsoleClient
from tests.console.site import OF_ROLE

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src") and value and value.startswith("/")]


async def crawl(client: httpx.AsyncClient, *starts: str) -> dict[str, httpx.Response]:
    """Every page that can be reached by following links."""
    waiting, seen = list(starts), dict[str, httpx.Response]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen[path] = await client.get(path, follow_redirects=True)
        if seen[path].headers["content-type"].startswith("text/html"):
            parser = Links()
            parser.feed(seen[path].text)
            waiting += [
                found for found in parser.found if not re.match(r"/days/\d{4}-\d\d-\d\d$", found)
            ]  # there is always a day before
    return seen


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.DEALER])
async def test_every_link_leads_somewhere(office: ConsoleClient, role: Role) -> None:
    async with office.client(OF_ROLE[role]) as client:
        found = await crawl(client, "/", "/rounds/UTH-01/first")
    assert {path: answer.status_code for path, answer in found.items() if answer.status_code != 200} == {}
    if role is Role.AUDITOR:
        kinds = {path.split("/")[1].partition("?")[0] for path in found}
        assert {"awards", "journals", "events", "rounds", "days", "adjustments", "parameters", "audit"} <= kinds


async def get(office: ConsoleClient, path: str, name: str = "ada") -> str:
    async with office.client(name) as client:
        answer = await client.get(path)
        assert answer.status_code == 200, answer.text
        return re.sub(r"\s+", " ", answer.text)


async def test_the_floor_shows_each_link_with_its_tables(office: ConsoleClient) -> None:
    page = await get(office, "/")
    async with office.client("ada") as client:
        link, _ = (await client.get("/api/links")).json()
    shown = f"{link['now']['displayed_cents'] // 100:,}"
    assert f'<span class="whole">{shown}</span>' in page
    for table in ("UTH-01", "UTH-02", "BE-01", "TCX-01"):
        assert f"<h3>{table}</h3>" in page
    assert "$81,000.00" in page, "the board with its last figure"


async def test_an_award_slip_can_be_worked_out_again(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        awards = (await client.get("/api/links/megalink/awards")).json()
    shared = next(award for award in awards if award["shared_by"] > 1)
    page = await get(office, f"/awards/{shared['award']}")
    for part in (*shared["rules"], *shared["decisions"], " / 2 = ", "it comes to the same"):
        assert part in page
    assert f"{shared['amount_cents'] // 100:,}.{shared['amount_cents'] % 100:02d}" in page
    assert page.count('role="img"') == 5, "five cards"


async def test_an_amount_leads_to_its_journals_and_they_balance(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        award = (await client.get("/api/links/megalink/awards")).json()[0]
        slip = (await client.get(f"/awards/{award['award']}")).text
        (target,) = re.findall(r'class="amount" href="([^"]+)"', slip)
        journals = (await client.get(f"/api{target}")).json()
        page = (await client.get(target)).text
    assert award["award"] in {journal["award"] for journal in journals}
    for journal in journals:
        posted = journal["postings_micros"]
        debit = posted["wagered"] + posted["recoverable"]
        assert debit == posted["pool"] + posted["reserve"] + posted["house"] + posted["awarded"]
        assert f"journal {journal['journal']}" in page


async def test_a_round_tells_all_that_was_said_and_paid(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        found = (await client.get("/api/rounds/UTH-01/first")).json()
    said = [entry["type"] for entry in found["events"]]
    assert said[:2] == ["round.opened", "wager.placed"]
    assert said.count("round.settled") == 1
    assert "award.paid" in said, "also what was said long after it was settled"
    assert [award["table"] for award in found["awards"]] == ["UTH-01"]
    assert {journal["kind"] for journal in found["journals"]} == {"contribution", "share"}


async def test_a_round_ended_by_a_pit_manager_says_so(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        commands = (await client.get("/api/commands")).json()
        ended = next(command for command in commands if command["type"] == "round.concluded")
        table = json.loads(ended["payload"])["table"]
        page = (await client.get(f"/rounds/{table}/{ended['round']}")).text
    assert "pit manager" in page


async def test_an_events_way_from_the_table_to_the_board(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        found = (await client.get("/api/events/megalink-event-9")).json()
    assert [step["name"] for step in found["way"]] == [
        "Sent",
        "Decided",
        "Committed",
        "Replied",
        "Announced",
        "Board pit-3",
    ]
    assert [step["done"] for step in found["way"]] == [True, True, True, True, False, True], (
        "no meter is announced here"
    )


async def test_a_refused_event_cites_its_paragraph(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        said = (await client.get("/api/rounds/UTH-01/first")).json()["events"]
    late = next(entry for entry in said if entry["answer"].get("code") == "bets_closed")
    assert "UTH 5.5" in await get(office, f"/events/{late['id']}")


@pytest.mark.parametrize(
    "path",
    ["/events/no-such-event", "/rounds/UTH-01/none", "/awards/megalink-999999", "/awards/x", "/journals/nolink",
     "/journals/megalink/999999", "/days/2999-01-01", f"/days/{DAY}/pdfx", "/sign/nolink", "/find?q=", "/parts/none",
     "/awards?link=nolink", "/nothing/here"],
)  # fmt: skip
async def test_what_is_not_there_is_said_in_a_sentence(office: ConsoleClient, path: str) -> None:
    async with office.client("ada") as client:
        answer = await client.get(path)
    assert answer.status_code == 404
    assert "Not found" in answer.text
    assert "Traceback" not in answer.text


async def test_names_with_anything_in_them_do_no_harm(office: ConsoleClient) -> None:
    async with office.client("ada") as client:
        for name in ("<script>alert(1)</script>", "a/b", "%2e%2e", "'; DROP TABLE people; --", "ä" * 64):
            for path in ("/rounds/UTH-01/{}", "/events/{}", "/find?q={}", "/audit?by={}"):
                answer = await client.get(path.format(httpx.URL("http://x", params={"q": name}).query.decode()[2:]))
                assert answer.status_code in (200, 404), answer.text
                assert "<script>alert" not in answer.text
        for path in (
            "/events/%00",
            "/rounds/UTH-01/%00",
            "/find?q=%00",
            "/audit?by=%00",
            "/api/events/%F0%28",
            f"/events/{'x' * 65}",
        ):
            assert (await client.get(path)).status_code in (200, 404, 422), path


@contextmanager
def statements(office: ConsoleClient) -> Iterator[list[tuple[str, Any]]]:
    """What is asked of the database."""
    found: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        found.append((statement, parameters))

    event.listen(office.engine.sync_engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(office.engine.sync_engine, "before_cursor_execute", note)


GROWING = "events|journals|entries|awards|payments|rounds|audit|quarantine|proposals|requests|sessions|login_attempts"
PATHS = [
    "/", "/tables", "/parts/claims", "/awards", "/awards?before=3", "/awards/megalink-000001", "/journals/megalink", f"/journals/megalink?day={DAY}",
    "/journals/megalink?before=9", "/journals/megalink/20", "/rounds/UTH-01/first", "/events/megalink-event-9", "/adjustments",
    "/adjustments?before=9", "/parameters", "/quarantine", "/quarantine?before=5", "/audit", "/audit?before=5", "/audit?by=ada",
    "/audit/commands", "/audit/commands?before=megalink-opened", f"/api/links/megalink/history?day={DAY}",
]  # fmt: skip


async def test_no_page_reads_a_table_that_grows_from_end_to_end(office: ConsoleClient) -> None:
    """Each question finds an index to start from, so that its cost does not grow with the history."""
    with statements(office) as asked:
        async with office.client("ada") as client:
            for path in PATHS:
                assert (await client.get(path)).status_code == 200, path
    questions = {statement: parameters for statement, parameters in asked if statement.lstrip().startswith("SELECT")}
    assert len(questions) > 20
    async with office.engine.connect() as connection:
        await connection.exec_driver_sql("SET enable_seqscan = off")
        for statement, parameters in questions.items():
            plan = (await connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)).scalars().all()
            scanned = re.findall(rf"Seq Scan on ({GROWING})\b", "\n".join(plan))
            assert scanned == [], f"{statement}\n" + "\n".join(plan)
        await connection.rollback()


async def test_pages_read_in_transactions_that_cannot_write(office: ConsoleClient) -> None:
    with pytest.raises(Exception, match="read-only transaction"):
        async with reading(office.engine) as connection:
            await connection.exec_driver_sql("INSERT INTO login_attempts (name, address) VALUES ('x', 'y')")
