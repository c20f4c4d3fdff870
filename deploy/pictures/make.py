"""Makes the pictures of the README from the running demonstration: python deploy/pictures/make.py.

It runs `jackpot demo` in a terminal of tmux, records what that terminal shows, and looks at the console and at the sign
page with Chromium. It needs tmux and Chromium, and the development packages.
"""

import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE: Final = Path(__file__).parent
JACKPOT: Final = Path(sys.executable).with_name("jackpot")
COLUMNS, ROWS = 96, 28
WIDTH_PX: Final = 1000
FRAMES, FRAME_S = 96, 0.16
PRESSED: Final = {6: "l", 50: "k"}
"""While it is recorded: some luck, then kill -9 of the daemon, which comes back."""
START_SECONDS_MAX: Final = 90
INK: Final = (208, 208, 208)
THEME: Final = TerminalTheme((16, 16, 18), INK, [INK] * 8)
"""Every colour of the screen is given as it is; only its ground and its plain text are left to the terminal."""


class Terminal:
    """A terminal without a window."""

    def __init__(self) -> None:
        self._server = ["tmux", "-L", f"jackpot-pictures-{id(self)}"]

    def run(self, *command: str | Path) -> None:
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        environment = ("env", "COLORTERM=truecolor")
        argv = [*self._server, "new-session", "-d", *size, *environment, *map(str, command)]
        subprocess.run(argv, check=True)
        subprocess.run([*self._server, "set-option", "-g", "remain-on-exit", "on"], check=True)

    def press(self, key: str) -> None:
        subprocess.run([*self._server, "send-keys", key], check=True)

    def shown(self) -> str:
        """What it shows now, with its colours."""
        argv = [*self._server, "capture-pane", "-e", "-p"]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while text not in Text.from_ansi(self.shown()).plain:
            if time.monotonic() > deadline:
                sys.exit(f"the demonstration never showed {text!r}:\n{self.shown()}")
            time.sleep(0.2)

    def close(self) -> None:
        subprocess.run([*self._server, "kill-server"], check=False)


def main() -> None:
    for program in ("tmux", "chromium"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed")
    data_dir = Path(tempfile.mkdtemp(prefix="jackpot-pictures-"))
    data_dir.chmod(0o755)
    terminal = Terminal()
    try:
        terminal.run(JACKPOT, "demo", "--data-dir", data_dir)
        terminal.wait_for("debits = credits")
        url = "http://" + Text.from_ansi(terminal.shown()).plain.partition("http://")[2].split()[0]
        terminal.press("l")
        time.sleep(30)
        with browser() as chromium:
            look_at_pages(chromium, url, (data_dir / "password").read_text().strip())
            frames = record(terminal)
            terminal.press("q")
            terminal.wait_for("stopped")
            draw(chromium, frames)
    finally:
        terminal.close()
        shutil.rmtree(data_dir, ignore_errors=True)


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


def record(terminal: Terminal) -> list[str]:
    frames = []
    for number in range(FRAMES):
        started = time.monotonic()
        if number in PRESSED:
            terminal.press(PRESSED[number])
        frames.append(terminal.shown())
        time.sleep(max(0.0, FRAME_S - (time.monotonic() - started)))
    return frames


def look_at_pages(chromium: Browser, url: str, password: str) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{url}/login")
    page.fill("input[name=name]", "manager")
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_url(f"{url}/")
    time.sleep(2)
    page.screenshot(path=HERE / "console.png")
    # Without motion: no wheel is caught between two digits.
    sign = chromium.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    sign.goto(f"{url}/sign/megalink")
    time.sleep(3)
    sign.screenshot(path=HERE / "sign.png")


def draw(chromium: Browser, frames: list[str]) -> None:
    """The recording, and its first picture by itself."""
    page = chromium.new_page(viewport={"width": 1400, "height": 1000})
    pictures = [photograph(page, frame) for frame in frames]
    pictures[0].save(HERE / "terminal.png", optimize=True)
    pictures[0].save(
        HERE / "demo.webp",
        save_all=True,
        append_images=pictures[1:],
        duration=int(FRAME_S * 1000),
        loop=0,
        quality=70,
        method=4,
    )


def photograph(page: Page, frame: str) -> Image.Image:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(frame), end="", no_wrap=True, overflow="ignore", crop=False)
    svg = console.export_svg(title="jackpot demo", theme=THEME)
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ width: {WIDTH_PX}px }}</style>{svg}")
    return Image.open(io.BytesIO(page.locator("svg").first.screenshot())).convert("RGB")


if __name__ == "__main__":
    main()
