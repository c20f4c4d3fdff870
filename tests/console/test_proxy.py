"""Where a visitor comes from is the kernel's word, or that of a proxy that the configuration names; nobody else's."""

import asyncio
import os
import shutil
import ssl
import subprocess
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from sqlalchemy import delete, select

from jackpot.config import read
from jackpot.console.access import COOKIE
from jackpot.errors import UserError
from jackpot.ledger.schema import audit, login_attempts
from jackpot.people.sessions import ATTEMPTS_PER_ADDRESS, ATTEMPTS_PER_NAME
from jackpot.pki import Kind, Site
from tests.brokers import free_port
from tests.console.console_client import ConsoleClient, served
from tests.console.site import PASSWORD
from tests.deploy.installed import DAYS, DEPLOY, now, replaced
from tests.waiting import patience_s

pytestmark = pytest.mark.asyncio(loop_scope="session")

US = "127.0.0.1"


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def forgotten(office: ConsoleClient) -> AsyncIterator[None]:
    """The other tests come from here too."""

    async def forget() -> None:
        async with office.engine.begin() as connection:
            await connection.execute(delete(login_attempts))

    await forget()
    yield
    await forget()


class Visitor:
    def __init__(self, url: str, source: str, verify: ssl.SSLContext | bool = True) -> None:
        transport = httpx.AsyncHTTPTransport(local_address=source, verify=verify)
        self.client = httpx.AsyncClient(base_url=url, transport=transport)

    async def tries(self, name: str, password: str = "wrong", **headers: str) -> int:
        page = await self.client.get("/login")
        token = page.text.partition('name="token" value="')[2].partition('"')[0]
        fields = {"name": name, "password": password, "token": token}
        return (await self.client.post("/login", data=fields, headers=headers)).status_code


async def addresses(office: ConsoleClient, name: str) -> set[str]:
    async with office.engine.connect() as connection:
        rows = await connection.execute(select(audit.c.address).where(audit.c.by == name))
        return {row.address for row in rows}


def invented(number: int) -> dict[str, str]:
    return {"X-Forwarded-For": f"203.0.113.{number}", "Forwarded": f"for=203.0.113.{number}"}


async def test_an_invented_address_is_no_way_around_the_limit(office: ConsoleClient) -> None:
    """Without a proxy in the configuration: however often, and whatever the environment says."""
    async with served(office) as port:
        visitor = Visitor(f"http://{US}:{port}", US)
        who = [f"guess-{uuid.uuid4().hex[:8]}" for _ in range(ATTEMPTS_PER_ADDRESS + 3)]
        answers = [await visitor.tries(name, **invented(number)) for number, name in enumerate(who)]
        await visitor.client.aclose()
    assert answers == [401] * ATTEMPTS_PER_ADDRESS + [429] * 3
    assert await addresses(office, who[0]) == {US}


async def test_a_proxys_word_is_taken_up_to_the_last_that_is_trusted(office: ConsoleClient) -> None:
    name = f"guess-{uuid.uuid4().hex[:8]}"
    async with served(office, US, "10.1.0.0/24") as port:
        proxy = Visitor(f"http://{US}:{port}", US)
        assert await proxy.tries(name, **{"X-Forwarded-For": "203.0.113.9, 198.51.100.7, 10.1.0.5"}) == 401
        stranger = Visitor(f"http://{US}:{port}", "127.0.0.4")
        assert await stranger.tries(name, **invented(1)) == 401
        for visitor in (proxy, stranger):
            await visitor.client.aclose()
    assert await addresses(office, name) == {"198.51.100.7", "127.0.0.4"}


async def test_an_account_is_guessed_at_no_more_often_from_many_addresses(office: ConsoleClient) -> None:
    name = f"guess-{uuid.uuid4().hex[:8]}"
    async with served(office, US) as port:
        proxy = Visitor(f"http://{US}:{port}", US)
        answers = [await proxy.tries(name, **invented(number)) for number in range(100, 102 + ATTEMPTS_PER_NAME)]
        await proxy.client.aclose()
    assert answers == [401] * ATTEMPTS_PER_NAME + [429] * 2


@pytest.mark.parametrize("proxy", ["*", "localhost", "10.0.0.1/8", ""])
async def test_whom_to_trust_is_an_address_or_a_network(proxy: str) -> None:
    with pytest.raises(UserError, match=r"http.trusted_proxies: .* is no address or network"):
        read({"http": {"trusted_proxies": [proxy]}}, "a file", {})


# -- the web server that is shipped ------------------------------------------------------------------------------------

MAIN = """
daemon off; pid {folder}/pid; error_log stderr; {user}
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  include {folder}/site.conf;
}}
"""


@pytest.fixture
def nginx() -> str:
    found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        pytest.skip("nginx is not installed")
    return found


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, int, int]:
    """The shipped file with this test's places in it, and the ports of its two doors."""
    authorities = Site(tmp_path / "pki")
    authorities.create("Test", now())
    pair = authorities.issue(Kind.SERVER, "console", now(), DAYS, [US])
    for path, name in zip(pair, ("console.crt", "console.key"), strict=True):
        shutil.copy(path, tmp_path / name)
    shutil.copy(authorities.authorities[Kind.SERVER].certificate_file, tmp_path / "ca.crt")
    plain, door = free_port(), free_port()
    changes = {
        "/etc/nginx/jackpot/": f"{tmp_path}/",
        "listen [::]:80;": "",
        "listen [::]:443 ssl;": "",
        "listen 80;": f"listen {US}:{plain};",
        "listen 443 ssl;": f"listen {US}:{door} ssl;",
    }
    (tmp_path / "site.conf").write_text(replaced((DEPLOY / "nginx/jackpot.conf").read_text(), changes))
    user = "user root;" if os.geteuid() == 0 else ""
    (tmp_path / "nginx.conf").write_text(MAIN.format(folder=tmp_path, user=user))
    return tmp_path, plain, door


async def test_one_logs_in_through_the_shipped_web_server(
    office: ConsoleClient, nginx: str, site: tuple[Path, int, int]
) -> None:
    folder, plain, door = site
    argv = [nginx, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
    async with served(office, US) as port:
        conf = folder / "site.conf"
        conf.write_text(replaced(conf.read_text(), {"127.0.0.1:8080": f"{US}:{port}"}))
        checked = subprocess.run([*argv, "-t"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
        process = subprocess.Popen(argv)
        try:
            trust = ssl.create_default_context(cafile=str(folder / "ca.crt"))
            visitor = Visitor(f"https://{US}:{door}", "127.0.0.5", trust)
            async with asyncio.timeout(patience_s(20)):
                while True:
                    try:
                        await visitor.client.get("/healthz")
                        break
                    except httpx.TransportError:
                        await asyncio.sleep(0.05)
            wrong = f"guess-{uuid.uuid4().hex[:8]}"
            assert await visitor.tries(wrong, **invented(7)) == 401
            assert await addresses(office, wrong) == {"127.0.0.5"}
            assert await visitor.tries("ada", PASSWORD) == 303
            (cookie,) = [cookie for cookie in visitor.client.cookies.jar if cookie.name == COOKIE]
            assert cookie.secure, "the browser sends it over TLS alone"
            assert (await visitor.client.get("/days", follow_redirects=True)).status_code == 200
            assert (await visitor.client.get("/metrics")).status_code == 404
            await visitor.client.aclose()
            sent_on = httpx.get(f"http://{US}:{plain}/login")
            assert (sent_on.status_code, sent_on.headers["location"]) == (301, f"https://{US}/login")
        finally:
            process.terminate()
            process.wait(patience_s(20))
