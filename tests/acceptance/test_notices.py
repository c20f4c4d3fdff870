"""An award is announced to its table until the table says that it is paid."""

from collections.abc import Callable

from tests.acceptance.conftest import LINK
from tests.acceptance.integrator import Integrator, Table


async def test_a_notice_comes_again_every_ten_seconds_until_the_award_is_paid(
    pit: Integrator, new_table: Callable[[str], Table]
) -> None:
    paid, unpaid = new_table("UTH"), new_table("UTH")
    awards = {}
    for table in (paid, unpaid):
        await table.deal()
        await table.enter(1, "Ah Ad", "Ac As 2d")
        (awards[table.name],) = (await table.settle())["awards"]
    for table in (paid, unpaid):
        assert await table.notice(awards[table.name]["award"]) == awards[table.name]
    await paid.pay(awards[paid.name])
    heard = len(pit.notices(LINK, paid.name))
    # The other is announced again, together with all that are not paid. How often, the simulation sees.
    assert await unpaid.notice(awards[unpaid.name]["award"], times=2) == awards[unpaid.name]
    assert len(pit.notices(LINK, paid.name)) == heard
    await unpaid.pay(awards[unpaid.name])
