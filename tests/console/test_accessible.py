"""Usable by everyone: every control has a name, every text its contrast, and the keyboard reaches all of it."""

import pytest
from playwright.async_api import Page, expect

from tests.console.site import LINK, PHONE, ROYAL, WALL, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATHS = {
    "mona": ("/", "/tables", "/awards", f"/journals/{LINK}", f"/journals/{LINK}/1", "/days", "/adjustments", "/parameters", "/quarantine", "/api/docs", "/password"),
    "ada": ("/audit", "/audit/commands"),
    "emil": ("/people",),
}  # fmt: skip

NAMELESS = """
() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary, [role=img], svg[role], nav, section, [role=region]")]
  .filter((element) => {
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join("");
    const by = element.getAttribute("aria-labelledby");
    const text = element.getAttribute("aria-label") || (by && document.getElementById(by)?.textContent) || labels;
    const own = ["INPUT", "SELECT", "NAV", "SECTION"].includes(element.tagName) ? "" : element.textContent;
    return !(text + own).trim();
  })
  .map((element) => element.outerHTML.slice(0, 120))
"""

# WCAG 2.2, 1.4.3: 4.5 to 1 against what is really behind the text, 3 to 1 for large text.
FAINT = """
() => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const number = (color) => {
    if (!known.has(color)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
      known.set(color, [...context.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
  };
  const over = ([r, g, b, a], [x, y, z]) => [r, g, b].map((part, nth) => (part * a + [x, y, z][nth] * (255 - a)) / 255);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(number(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest(".hidden, svg, [aria-label='no']")) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const text = over(number(style.color), ground);
    const [dark, bright] = [light(ground), light(text)].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < (large ? 3 : 4.5)) found.push(`${contrast.toFixed(2)} ${walker.currentNode.textContent.trim().slice(0, 40)}`);
  }
  return found;
}
"""


@pytest.mark.parametrize("name", list(PATHS))
async def test_every_control_has_a_name_and_every_text_its_contrast(house: Site, name: str) -> None:
    async with house.page(name) as page:
        for path in PATHS[name]:
            await page.goto(path)
            await page.locator("details").evaluate_all("all => all.forEach(each => (each.open = true))")
            assert await page.evaluate(NAMELESS) == [], path
            assert await page.evaluate(FAINT) == [], path
            assert await page.title() not in ("", "· Jackpot")
            assert await page.locator("h1").count() == 1, path


async def test_the_slip_the_login_and_the_sign_can_be_read_too(house: Site) -> None:
    await house.deal("BE-02", "for-a-slip")
    await house.enter("BE-02", "for-a-slip", ["2c", "2d", "2h", "2s", "9c"])
    award = (await house.settle("BE-02", "for-a-slip"))["result"]["awards"][0]["award"]
    async with house.page("ada") as page:
        for path in (f"/awards/{award}", "/rounds/BE-02/for-a-slip", "/login", "/no-such-page"):
            await page.goto(path)
            assert await page.evaluate(FAINT) == [], path
            assert await page.evaluate(NAMELESS) == [], path
        await page.goto(f"/sign/{LINK}")
        await expect(page.locator(".mark")).to_be_hidden()
        assert await page.evaluate(FAINT) == []


WIDER_THAN_ITS_BOX = """
() => [document.documentElement, ...document.querySelectorAll(".scroll")]
  .filter((element) => element.scrollWidth > element.clientWidth)
  .map((element) => element.getAttribute("aria-label") ?? "the page")
"""


@pytest.mark.parametrize("name", list(PATHS))
async def test_every_page_fits_phone_desk_and_wall(house: Site, name: str) -> None:
    """On a phone a sheet of the day may be moved sideways inside its frame; elsewhere nothing hides at the side."""
    async with house.page(name) as page:
        for path in PATHS[name]:
            await page.goto(path)
            sizes = {}
            for viewport in ({"width": 320, "height": 640}, PHONE, {"width": 1280, "height": 800}, WALL):
                await page.set_viewport_size(viewport)  # type: ignore[arg-type]  # a plain dict is what it takes
                wide = await page.evaluate(WIDER_THAN_ITS_BOX)
                assert "the page" not in wide, (path, viewport)
                assert wide == [] or viewport["width"] < 1000, (path, viewport)
                size: str = await page.locator("h1").evaluate("heading => getComputedStyle(heading).fontSize")
                sizes[viewport["width"]] = float(size.removesuffix("px"))
            assert sizes[WALL["width"]] > 1.5 * sizes[1280], "it is read from across the room"


async def test_a_claim_is_resolved_without_a_mouse(house: Site) -> None:
    await house.deal("BE-01", "keyboard")
    await house.enter("BE-01", "keyboard", ROYAL)
    async with house.page("mona") as page:
        await expect(page.get_by_text("Royal flush")).to_be_visible()
        await page.keyboard.press("Tab")
        assert await focused(page) == "Skip to content"
        await page.keyboard.press("Enter")
        await tab_to(page, "Settle or void this round")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await page.keyboard.type("by keyboard alone")
        await tab_to(page, "Void: every wager goes back")
        outline = await page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert outline == "3px", "one sees where one is"
        await page.keyboard.press("Enter")
        await expect(page.locator(".note.done")).to_have_text("Round keyboard of BE-01 is void.")


async def focused(page: Page) -> str:
    text: str = await page.evaluate("document.activeElement.textContent.trim()")
    return text


async def tab_to(page: Page, text: str) -> None:
    for _ in range(60):
        if await focused(page) == text:
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"{text!r} cannot be reached by keyboard")
