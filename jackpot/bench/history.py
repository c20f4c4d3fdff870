"""A long past for a link, made up in the database: does the next event cost what the first did?

It is a year that ended yesterday, made up before the first event of today.
"""

import asyncpg

CHUNK = 20_000
DAYS = 365
TABLES = 1000
EVENTS_A_ROUND = 10

# Rows of the usual size and shape. The chain is not a real one: a made-up past is never verified.
_EVENTS = """
INSERT INTO events (link, n, id, table_id, seq, type, round, at, day, payload, answer, chain)
SELECT $1, $2 + g, gen_random_uuid()::text, 'H-' || (g + $3) % $5, (g + $3) / $5 + 1, 'wager.placed',
    'r' || (g + $3) / $5 / $6, now() - make_interval(days => $7), current_date - $7,
    repeat('p', 170)::bytea, repeat('a', 130)::bytea, sha256(int8send(g))
FROM generate_series(1, $4::bigint) AS g
"""
_ROUNDS = """
INSERT INTO rounds (table_id, round, link, phase, opened_n, n, document)
SELECT 'H-' || t, 'r' || r, $1, 'settled', 0, 0, '{"hands": [], "rates": [2500, 310], "wagers": [], "declined": []}'
FROM generate_series(0, $2::bigint - 1) AS t, generate_series($3::bigint, $4::bigint - 1) AS r
"""
_JOURNALS = """
INSERT INTO journals (link, journal, n, kind, table_id, round, at, day, wagers, wagered, recoverable, pool, reserve,
    house, awarded, wagered_after, recoverable_after, pool_after, reserve_after, house_after, awarded_after)
SELECT links.link, links.journal + g, links.n, 'contribution', 'H-1', 'r' || g, now() - make_interval(days => $3),
    current_date - $3, '{7,0,0,0,0}',
    0, 0, 0, 0, 0, 0, wagered, recoverable, pool, reserve, house, awarded
FROM links, generate_series(1, $2::bigint) AS g WHERE links.link = $1
"""


async def make_up(url: str, link: str, events: int) -> None:
    connection = await asyncpg.connect(url, server_settings={"default_transaction_isolation": "serializable"})
    try:
        done = 0
        while done < events:
            count = min(CHUNK, events - done)
            n = await connection.fetchval("SELECT n FROM links WHERE link = $1", link)
            days_ago = 1 + (DAYS - 1) * (events - done - count) // events
            await connection.execute(_EVENTS, link, n, done, count, TABLES, EVENTS_A_ROUND, days_ago)
            rounds = (done // TABLES // EVENTS_A_ROUND, (done + count) // TABLES // EVENTS_A_ROUND)
            await connection.execute(_ROUNDS, link, TABLES, *rounds)
            await connection.execute(_JOURNALS, link, count // EVENTS_A_ROUND, days_ago)
            await connection.execute(
                "UPDATE links SET n = n + $2, journal = journal + $3, sent = n + $2 WHERE link = $1",
                link,
                count,
                count // EVENTS_A_ROUND,
            )
            done += count
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()
