"""The sign page: counts up to the committed amount and never beyond it, and never pretends to be current."""

import re
import signal
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.console.site import LINK, STRAIGHT_FLUSH, Site
from tests.waiting import patience_s

pytestmark = pytest.mark.asyncio(loop_scope="session")

RECORD = """
() => {
  const meter = document.querySelector(".meter");
  window.record = [];
  const note = () => window.record.push([Number(meter.dataset.shownCents), Number(meter.dataset.goalCents)]);
  new MutationObserver(note).observe(meter, { attributes: true });
}
"""


TOO_WIDE = """
() => [...document.querySelectorAll(".win p, .meter, h1, .held")]
  .filter((element) => element.checkVisibility())
  .filter((element) => element.scrollWidth > innerWidth || element.getBoundingClientRect().right > innerWidth)
  .map((element) => element.className)
"""


async def open_sign(page: Page) -> None:
    await page.goto(f"/sign/{LINK}")
    await expect(page.locator("body")).not_to_have_class(re.compile("stale"))


async def shown(page: Page) -> int:
    return int(await page.locator(".meter").get_attribute("data-shown-cents") or 0)


async def test_it_counts_up_to_the_committed_amount_and_never_beyond(house: Site) -> None:
    async with house.page() as page:
        await open_sign(page)
        before = await shown(page)
        await page.evaluate(RECORD)
        goal = await house.deal("UTH-01", "counts", 1, 2, 3, 4, 5, 6, 7)
        await expect(page.locator(".meter")).to_have_attribute("data-shown-cents", str(goal))
        record: list[list[int]] = await page.evaluate("record")
    seen = [cents for cents, _ in record]
    assert seen == sorted(seen), "it never counts down"
    assert all(cents <= goal for cents, goal in record), "and never beyond what was committed"
    assert len({cents for cents in seen if before < cents < goal}) > 3, "but through what lies between"
    await house.settle("UTH-01", "counts")


async def test_the_wheels_show_the_amount(house: Site) -> None:
    """What is read is what the wheels stand at, digit by digit."""
    async with house.page() as page:
        await open_sign(page)
        cents = await shown(page)
        wheels: list[Any] = await page.locator(".digit span").evaluate_all(
            "wheels => wheels.map(wheel => Number(wheel.style.getPropertyValue('--at')))"
        )
        label = await page.locator(".meter").get_attribute("aria-label")
    assert wheels == [int(digit) for digit in str(cents)]
    assert label == f"SGD {cents // 100:,}.{cents % 100:02d}"


async def test_whoever_wants_no_motion_sees_the_amount_at_once(house: Site) -> None:
    async with house.page(reduced_motion="reduce") as page:
        await open_sign(page)
        before = await shown(page)
        await page.evaluate(RECORD)
        goal = await house.deal("UTH-01", "calm", 1, 2)
        await expect(page.locator(".meter")).to_have_attribute("data-shown-cents", str(goal))
        assert {cents for cents, _ in await page.evaluate("record")} <= {before, goal}
        moving = await page.evaluate("document.getAnimations().length")
        assert moving == 0
    await house.settle("UTH-01", "calm")


async def test_a_hand_being_confirmed_and_then_the_win_take_it_over(house: Site) -> None:
    await house.deal("BE-01", "won")
    async with house.page() as page:
        await open_sign(page)
        base = await shown(page)
        await house.enter("BE-01", "won", STRAIGHT_FLUSH)
        await expect(page.locator(".held")).to_have_text("straight flush at table BE-01: being confirmed")
        assert await house.deal("BE-02", "meanwhile", 1, 2) == base, "held for the claim (D5)"
        assert await shown(page) == base
        await house.settle("BE-01", "won")
        win = page.locator(".win")
        await expect(win).to_be_visible()
        await expect(win.locator(".hand")).to_have_text("straight flush")
        await expect(win.locator(".sum")).to_have_text(f"SGD {base // 10 // 100:,}.{base // 10 % 100:02d}")
        await expect(win.locator(".where")).to_have_text("Table BE-01")
        assert await page.evaluate(TOO_WIDE) == []
        await expect(page.locator(".meter")).not_to_have_attribute("data-shown-cents", str(base))
        assert base * 9 // 10 <= await shown(page) <= base * 9 // 10 + 251, "and what came in after the entry"
    await house.settle("BE-02", "meanwhile")


async def test_a_win_of_long_ago_is_no_news(house: Site) -> None:
    async with house.page() as page:
        await open_sign(page)
        old = {"award": "megalink-000000", "link": LINK, "kind": "percentage", "rank": "royal_flush", "table": "BE-01",
               "amount_cents": 1, "at": "2020-01-01T00:00:00Z"}  # fmt: skip
        await page.evaluate("award => takeAward(award)", old)
        await expect(page.locator(".win")).to_be_hidden()


async def test_it_is_marked_as_soon_as_nobody_vouches_for_it(house: Site) -> None:
    """The daemon stands still: no message says so, and the sign finds out by itself."""
    async with house.page() as page:
        await open_sign(page)
        house.daemon.signal(signal.SIGSTOP)
        try:
            await expect(page.locator("body")).to_have_class(re.compile("stale"), timeout=patience_s(15) * 1000)
            await expect(page.locator(".mark")).to_have_text(
                re.compile(r"Not current, last confirmed at \d\d:\d\d:\d\d")
            )
            await expect(page.locator(".mark")).to_be_visible()
        finally:
            house.daemon.signal(signal.SIGCONT)
        await expect(page.locator("body")).not_to_have_class(re.compile("stale"), timeout=patience_s(30) * 1000)
        await expect(page.locator(".mark")).to_be_hidden()


async def test_a_restored_ledger_goes_on_at_a_lower_version(house: Site) -> None:
    async with house.page() as page:
        await open_sign(page)
        await page.evaluate("source.close()")
        meter = {"displayed_cents": 20_000_000, "pending": [], "live": True}
        for version, cents in ((10**9, 20_000_000), (10**9 - 1, 19_000_000)):
            await page.evaluate("meter => takeMeter(meter)", {**meter, "version": version, "displayed_cents": cents})
        await expect(page.locator(".meter")).to_have_attribute("data-goal-cents", "20000000")
        await page.evaluate("takeStatus({ state: 'lost' }); takeStatus({ state: 'running' })")
        await page.evaluate("meter => takeMeter(meter)", {**meter, "version": 7, "displayed_cents": 15_000_000})
        await expect(page.locator(".meter")).to_have_attribute("data-goal-cents", "15000000")


async def test_a_lost_broker_is_seen_on_sign_and_floor(house: Site) -> None:
    async with house.page("dora") as floor, house.page() as sign:
        await open_sign(sign)
        await expect(floor.locator("#feed")).to_have_text("Live")
        house.broker.kill()
        try:
            await expect(sign.locator("body")).to_have_class(re.compile("stale"), timeout=patience_s(15) * 1000)
            await expect(floor.locator("#feed")).to_have_text(
                "Not live: the feed is cut", timeout=patience_s(15) * 1000
            )
        finally:
            house.broker.start()
        await expect(sign.locator("body")).not_to_have_class(re.compile("stale"), timeout=patience_s(30) * 1000)
        await expect(floor.locator("#feed")).to_have_text("Live", timeout=patience_s(30) * 1000)


async def test_the_figure_fits_every_screen(house: Site) -> None:
    async with house.page() as page:
        await open_sign(page)
        for width, height in ((320, 640), (844, 390), (1440, 900), (3840, 2160)):
            await page.set_viewport_size({"width": width, "height": height})
            for cents in (5, 100_000_00, 99_999_999_99):
                await page.evaluate("cents => take(cents, false)", cents)
                assert await page.evaluate(TOO_WIDE) == [], (width, cents)
                box = await page.locator(".meter").bounding_box()
                assert box is not None
                assert 0 <= box["y"] < box["y"] + box["height"] <= height


async def test_a_claim_and_suspended_play_are_both_said_and_hide_nothing(house: Site) -> None:
    async with house.page() as page:
        await open_sign(page)
        claim = {"table": "BE-01", "round": "r", "rank": "royal_flush", "base_cents": 10_000_000}
        meter = {"version": 10**9, "displayed_cents": 10_000_000, "pending": [claim], "live": True}
        for width, height in ((320, 640), (390, 844), (844, 390), (1280, 720), (1920, 1080)):
            await page.set_viewport_size({"width": width, "height": height})
            await page.evaluate("meter => { takeMeter(meter); takeStatus({ state: 'suspended' }); }", meter)
            for part in (".meter", ".mark", ".held", "h1"):
                await expect(page.locator(part)).to_be_in_viewport(ratio=1)


# What is written stands inside the screen on all four sides, and inside its own box.
OUTSIDE = """
() => [...document.querySelectorAll(".win p")]
  .filter((element) => {
    const text = document.createRange();
    text.selectNodeContents(element);
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
  })
  .map((element) => element.textContent)
"""


async def test_a_win_fits_every_screen(house: Site) -> None:
    award = {"link": LINK, "kind": "percentage", "table": "UTH-01"}
    async with house.page() as page:
        await open_sign(page)
        for number, (rank, cents) in enumerate((("straight_flush", 4_800_000), ("royal_flush", 99_999_999_99))):
            await page.evaluate("winUntil = 0")
            news = {"award": f"shown-{number}", "rank": rank, "amount_cents": cents, **award}
            await page.evaluate("award => takeAward({ ...award, at: new Date().toISOString() })", news)
            await expect(page.locator(".win .hand")).to_have_text(rank.replace("_", " "))
            for width, height in ((320, 640), (390, 844), (844, 390), (1280, 720), (1920, 1080), (3840, 2160)):
                await page.set_viewport_size({"width": width, "height": height})
                assert await page.evaluate(OUTSIDE) == [], (width, height)


async def test_suspended_play_is_said(house: Site) -> None:
    async with house.page("mona") as page, house.page() as sign:
        await open_sign(sign)
        for act, state in (("suspend", "Play is suspended"), ("resume", "")):
            await page.goto("/")
            await page.get_by_text(re.compile(f"{act} play", re.IGNORECASE)).click()
            await page.get_by_label("Reason").fill("to be seen on the sign")
            await page.get_by_role("button", name=re.compile(f"{act} {LINK}", re.IGNORECASE)).click()
            await expect(sign.locator(".mark")).to_have_text(state)
