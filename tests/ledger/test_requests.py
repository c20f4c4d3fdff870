"""What people ask of a link is answered by who leads it, and by nobody else."""

import asyncio

import asyncpg

from jackpot.ledger import lease, requests
from jackpot.link.commands import LinkSuspended

ORDER = LinkSuspended(id="c1", by="ann", reason="fire alarm")
REFUSED = {"status": "refused", "message": "A claim waits."}


async def test_a_refusal_that_arrives_after_a_takeover_says_nothing(ledger_url: str) -> None:
    first, second = await asyncpg.connect(ledger_url), await asyncpg.connect(ledger_url)
    before = await lease.take(first, "one", "A", -1.0)
    assert before is not None
    await requests.leave(first, "one", ORDER)
    async with second.transaction():
        # The takeover is not committed yet when the late answer comes: it waits, and finds another epoch.
        await second.execute("UPDATE links SET epoch = epoch + 1 WHERE link = 'one'")
        late = asyncio.create_task(requests.answer(first, "one", before, "c1", REFUSED))
        await asyncio.sleep(0.2)
        assert not late.done()
    await late
    assert [request.id for request in await requests.waiting(second, "one")] == ["c1"]
    await requests.answer(second, "one", before + 1, "c1", {"status": "accepted"})
    assert await requests.answer_to(second, "c1", 0.0) == {"status": "accepted"}
    await first.close()
    await second.close()
