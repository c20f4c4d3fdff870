"""Operations in a real browser on a real daemon: watch a meter, resolve a blocked claim, four eyes, a day's export."""

import asyncio
import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from jackpot.people import accounts
from jackpot.people.roles import Role
from tests.console.site import INSTALLER, LINK, PASSWORD, PHONE, ROYAL, STRAIGHT_FLUSH, Site, log_in
from tests.waiting import patience_s

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def displayed_cents(page: Page) -> int:
    shown = await page.locator(f'[data-meter="{LINK}"]').inner_text()
    return int(re.sub(r"\D", "", shown))


async def test_login_leads_to_the_page_that_was_asked_for(house: Site) -> None:
    async with house.page() as page:
        await page.goto("/awards")
        await expect(page).to_have_url(re.compile(r"/login\?next=%2Fawards"))
        await page.get_by_label("Name").fill("ada")
        await page.get_by_label("Password").fill("not my password")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        await page.get_by_label("Name").fill("ada")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Awards")).to_be_visible()
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_role("button", name="Log in")).to_be_visible()


async def test_a_meter_moves_while_one_watches(house: Site) -> None:
    async with house.page("dora") as page:
        await expect(page.locator("#feed")).to_have_text("Live")
        before = await displayed_cents(page)
        after = await house.deal("UTH-01", "moves", 1, 2, 3, 4)
        assert after > before
        figure = page.locator(f'[data-meter="{LINK}"] .whole')
        await expect(figure).to_have_text(f"{after // 100:,}")
        assert await displayed_cents(page) == after
        round_ = page.locator("li", has_text="UTH-01").get_by_role("link", name="moves")
        await expect(round_).to_be_visible()
        await house.settle("UTH-01", "moves")
        await expect(round_).to_be_hidden()


async def test_a_blocked_claim_is_shown_with_who_blocks_it_and_resolved(house: Site) -> None:
    """D6: BE-01 entered its Royal first and left; BE-02 is settled and waits for it."""
    await house.deal("BE-01", "left-behind")
    await house.deal("BE-02", "waits")
    await house.enter("BE-01", "left-behind", ROYAL)
    await house.enter("BE-02", "waits", STRAIGHT_FLUSH)
    assert (await house.settle("BE-02", "waits"))["result"]["pending"] == [1]
    async with house.page("sam") as page:
        await expect(page.get_by_text("Holds up BE-02 waits.")).to_be_visible()
        await expect(page.get_by_text("Waits for BE-01 left-behind.")).to_be_visible()
        await expect(page.get_by_text("Settle or void this round")).to_have_count(0)
        board = page.locator(".boards .shown")
        await expect(board).to_have_text(re.compile(r"HELD \$[0-9,]+\.\d\d"))
        for width in (PHONE["width"], 1280, 1920):
            await page.set_viewport_size({"width": width, "height": 800})
            assert await board.evaluate("board => board.scrollWidth <= board.clientWidth"), "no figure is cut"
    async with house.page("mona") as page:
        claim = page.locator(".claims li", has_text="left-behind, entry")
        await claim.get_by_text("Settle or void this round").click()
        await claim.get_by_label("Reason").fill("table out of service, hand misread")
        await claim.get_by_role("button", name="Void").click()
        await expect(page.get_by_role("status").first).to_have_text("Round left-behind of BE-01 is void.")
        await expect(page.locator(".claims")).to_have_count(0)
        await page.goto("/rounds/BE-02/waits")
        await expect(page.locator("h1")).to_contain_text("Settled")
        await page.goto("/rounds/BE-01/left-behind")
        await expect(page.get_by_role("cell", name="mona")).to_be_visible()


async def test_what_the_desk_refuses_is_told_in_its_words(house: Site) -> None:
    """An open round cannot be settled; the server says so though the page did not offer it."""
    await house.tables["TCX-01"].say("round.opened", "still-open")
    async with house.page("mona") as page:
        await page.goto("/rounds/TCX-01/still-open")
        await page.get_by_text("Settle or void this round").click()
        await expect(page.get_by_role("button", name="Settle")).to_have_count(0)
        await page.get_by_label("Reason").fill("try to settle it")
        await page.get_by_role("button", name="Void").evaluate("button => (button.value = 'settled')")
        await page.get_by_role("button", name="Void").click()
        await expect(page.locator(".note.refused")).to_contain_text("has not been closed; void it")
    await house.tables["TCX-01"].say("round.voided", "still-open", reason="the test is over")


async def test_anyone_in_charge_stops_play_and_a_pit_manager_lets_it_go_on(house: Site) -> None:
    async with house.page("sam") as page:
        await page.get_by_text("Suspend play").click()
        await page.get_by_label("Reason").fill("smoke in the pit")
        await page.get_by_role("button", name=f"Suspend {LINK}").click()
        await expect(page.locator(".note.done")).to_have_text(f"{LINK} is suspended.")
        await expect(page.locator(".badge.suspended")).to_have_text("Suspended")
        await expect(page.get_by_text("smoke in the pit")).to_be_visible()
        await expect(page.get_by_text("Resume play")).to_have_count(0)
    async with house.page("mona") as page:
        await page.get_by_text("Resume play").click()
        await page.get_by_label("Reason").fill("only the kitchen")
        await page.get_by_role("button", name=f"Resume {LINK}").click()
        await expect(page.locator(".badge.running")).to_have_text("In play")


async def test_an_adjustment_takes_two_people(house: Site) -> None:
    async with house.page("fritz") as fritz, house.page("flora") as flora:
        await fritz.goto("/adjustments")
        await fritz.get_by_label("Account").select_option("reserve")
        await fritz.get_by_label("Amount").fill("1,250.50")
        await fritz.get_by_label("Reason").fill("a chip found under the table")
        await fritz.get_by_role("button", name="Propose").click()
        await expect(fritz.locator(".note.done")).to_contain_text("Somebody else must approve it.")
        await expect(fritz.get_by_role("button", name="Approve")).to_have_count(0)
        await flora.goto("/adjustments")
        proposal = flora.get_by_role("article").filter(has_text="a chip found under the table")
        await expect(proposal).to_contain_text("1,250.50 to the reserve of megalink")
        await proposal.get_by_role("button", name="Approve").click()
        await expect(flora.locator(".note.done")).to_contain_text("approved and carried out")
        await flora.get_by_role("link", name="Carried out").first.click()
        await expect(flora.locator("tbody")).to_contain_text("Adjustment")
        said = json.loads(await flora.locator("pre").first.inner_text())
        assert (said["by"], said["approved_by"], said["amount_cents"]) == ("fritz", "flora", 125_050)


async def test_parameters_change_with_finance_and_pit_together(house: Site) -> None:
    async with house.page("fritz") as fritz, house.page("mona") as mona:
        await fritz.goto("/parameters")
        await fritz.get_by_text(f"Propose a change of {LINK}").click()
        await fritz.get_by_role("textbox", name="Reset amount").fill("150,000")
        await fritz.get_by_label("Reason").fill("new terms for December")
        await fritz.get_by_role("button", name="Propose").click()
        await expect(fritz.locator(".note.done")).to_be_visible()
        await mona.goto("/parameters")
        row = mona.locator(".diff tr", has_text="Reset amount")
        await expect(row).to_contain_text("100,000.00")
        await expect(row).to_contain_text("150,000.00")
        await mona.get_by_role("button", name="Approve").click()
        await expect(mona.locator(".note.done")).to_contain_text("carried out")
        await expect(mona.get_by_text("then 150,000.00")).to_be_visible()


async def test_a_day_is_exported_in_every_form(house: Site) -> None:
    async with house.page("fritz") as page:
        await page.get_by_role("link", name="Day", exact=True).click()
        await expect(page.get_by_role("heading", name=re.compile("Gaming day 20"))).to_be_visible()
        found: dict[str, bytes] = {}
        for form in ("CSV", "XLSX", "PDF", "JSON"):
            async with page.expect_download() as waiting:
                await page.get_by_role("link", name=form, exact=True).click()
            download = await waiting.value
            assert download.suggested_filename.startswith("reconciliation-20")
            found[form] = Path(await download.path()).read_bytes()
    assert found["XLSX"].startswith(b"PK")
    assert found["PDF"].startswith(b"%PDF")
    document = json.loads(found["JSON"])
    assert [link["link"] for link in document["links"]] == [LINK]
    rows = list(csv.reader(io.StringIO(found["CSV"].decode())))
    assert len({len(row) for row in rows}) == 1


async def test_an_engineer_adds_somebody_who_then_chooses_a_password(house: Site) -> None:
    async with house.page("emil") as page:
        await page.get_by_role("link", name="People").click()
        await page.get_by_label("Name", exact=True).fill("petra")
        await page.get_by_role("combobox", name="Role").select_option("pit_supervisor")
        await page.get_by_label("First password").fill("given by the engineer")
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.locator(".note.done")).to_contain_text("petra is added")
    async with house.page() as page:
        await log_in(page, "petra", "given by the engineer")
        await expect(page.get_by_role("heading", name="A password of your own")).to_be_visible()
        await page.get_by_label("Present password").fill("given by the engineer")
        await page.get_by_label("New password", exact=True).fill("four quiet herons")
        await page.get_by_label("New password again").fill("four quiet herons")
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_role("heading", name="Floor")).to_be_visible()


async def test_a_page_left_open_ends_with_its_session(house: Site) -> None:
    """Nobody touches it; when the account is disabled it is a login page again by itself."""
    await accounts.add(house.engine, INSTALLER, "last.day", Role.DEALER, PASSWORD, must_change=False)
    async with house.page("last.day") as page:
        await expect(page.locator("#feed")).to_have_text("Live")
        await accounts.disable(house.engine, INSTALLER, "last.day")
        await house.deal("UTH-02", "after")
        await expect(page.get_by_role("button", name="Log in")).to_be_visible()
    await house.settle("UTH-02", "after")


async def test_what_could_not_be_read_is_kept_for_operations(house: Site) -> None:
    connection = house.tables["UTH-01"]._session.connection
    assert connection is not None
    connection.publish_nowait(f"jackpot/v1/{LINK}/tables/UTH-01/events", b'{"id": <script>alert(1)</script>')
    async with house.page("emil") as page:
        await expect(page.get_by_role("link", name="Quarantine")).to_be_visible()
        async with asyncio.timeout(patience_s(20)):
            await page.goto("/quarantine")
            while not await page.locator("article").count():
                await asyncio.sleep(0.1)
                await page.goto("/quarantine")
        await expect(page.locator("article").first).to_contain_text("Malformed")
        await expect(page.locator("pre").first).to_have_text('{"id": <script>alert(1)</script>')
