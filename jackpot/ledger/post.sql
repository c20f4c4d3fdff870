-- One batch of decisions, all or nothing. $1 to $22 are the link and its new head, $23 to $30 the events,
-- $31 to $36 the rounds they touched; $37 is everything that comes seldom, as one JSON object. Parameters and tables
-- are given only if they changed.
-- The head moves only from the epoch and event where the desk believes it to be; otherwise nothing is written.
WITH head AS (
    UPDATE links SET n = $4, chain = $5, at = $6, journal = $8, entry = $9, award = $10,
        wagered = $11, recoverable = $12, pool = $13, reserve = $14, house = $15, awarded = $16,
        suspended = $17, parameters_version = $18, parameters = COALESCE($19::jsonb, parameters),
        parameters_next = $20::jsonb, tables = COALESCE($21::jsonb, tables), sent = $22
    WHERE link = $1 AND epoch = $2 AND n = $3
    RETURNING link, at
), new_events AS (
    INSERT INTO events (link, n, id, table_id, seq, type, round, at, day, payload, answer, chain)
    SELECT head.link, $3 + nth, id, table_id, seq, type, round, head.at, $7, payload, answer, chain
    FROM head, unnest($23::text[], $24::text[], $25::bigint[], $26::text[], $27::text[], $28::bytea[], $29::bytea[],
        $30::bytea[]) WITH ORDINALITY AS e (id, table_id, seq, type, round, payload, answer, chain, nth)
), touched AS (
    SELECT head.link, r.* FROM head, unnest($31::text[], $32::text[], $33::text[], $34::bigint[], $35::bigint[],
        $36::jsonb[]) AS r (table_id, round, phase, opened_n, n, document)
), new_rounds AS (
    INSERT INTO rounds (link, table_id, round, phase, opened_n, n, document)
    SELECT link, table_id, round, phase, opened_n, n, document FROM touched WHERE opened_n IS NOT NULL
), changed_rounds AS (
    UPDATE rounds SET phase = touched.phase, n = touched.n, document = touched.document FROM touched
    WHERE rounds.table_id = touched.table_id AND rounds.round = touched.round AND touched.opened_n IS NULL
-- SELDOM: most batches have nothing of what follows, and are spared the opening of its tables.
), rest AS (
    SELECT head.link, head.at, $37::jsonb AS document FROM head
), new_journals AS (
    INSERT INTO journals (link, n, at, day, journal, kind, table_id, round, award, wagers, wagered, recoverable, pool, reserve, house, awarded,
        wagered_after, recoverable_after, pool_after, reserve_after, house_after, awarded_after)
    SELECT rest.link, j.n, rest.at, $7, j.journal, j.kind, j.table_id, j.round, j.award, j.wagers, j.wagered, j.recoverable, j.pool, j.reserve,
        j.house, j.awarded, j.wagered_after, j.recoverable_after, j.pool_after, j.reserve_after,
        j.house_after, j.awarded_after
    FROM rest, jsonb_to_recordset(document -> 'journals') AS j (n bigint, journal bigint, kind text, table_id text, round text, award bigint, wagers smallint[], wagered bigint,
        recoverable bigint, pool bigint, reserve bigint, house bigint, awarded bigint, wagered_after bigint,
        recoverable_after bigint, pool_after bigint, reserve_after bigint, house_after bigint, awarded_after
        bigint)
), new_entries AS (
    INSERT INTO entries (link, day, entry, n, table_id, round, position, cards, community, rank, base_micros)
    SELECT rest.link, $7, e.* FROM rest, jsonb_to_recordset(document -> 'entries') AS e (entry bigint, n bigint,
        table_id text, round text, position smallint, cards text[], community text[], rank text, base_micros bigint)
), new_awards AS (
    INSERT INTO awards (link, at, day, award, n, table_id, round, position, entry, rank, kind, amount_cents, base_cents,
        shared_by, multiplier, rules, decisions, parameters_version, working)
    SELECT rest.link, rest.at, $7, a.* FROM rest, jsonb_to_recordset(document -> 'awards') AS a (award bigint, n bigint,
        table_id text, round text, position smallint, entry bigint, rank text, kind text, amount_cents bigint,
        base_cents bigint, shared_by smallint, multiplier smallint, rules text[], decisions text[],
        parameters_version int, working jsonb)
    RETURNING link, award
), new_unpaid AS (
    INSERT INTO unpaid (link, award) SELECT new_awards.link, new_awards.award FROM new_awards
    WHERE new_awards.award NOT IN (
        SELECT p.award FROM rest, jsonb_to_recordset(document -> 'payments') AS p (award bigint))
), new_payments AS (
    INSERT INTO payments (link, at, day, award, n)
    SELECT rest.link, rest.at, $7, p.*
    FROM rest, jsonb_to_recordset(document -> 'payments') AS p (award bigint, n bigint)
    RETURNING link, award
), no_longer_unpaid AS (
    DELETE FROM unpaid USING new_payments
    WHERE unpaid.link = new_payments.link AND unpaid.award = new_payments.award
), new_reports AS (
    INSERT INTO meter_reports (link, n, table_id, day, wagers, wagered_cents, awards, awarded_cents)
    SELECT rest.link, m.* FROM rest, jsonb_to_recordset(document -> 'reports') AS m (n bigint, table_id text, day date,
        wagers bigint, wagered_cents bigint, awards bigint, awarded_cents bigint)
), new_parameters AS (
    INSERT INTO parameters (link, at, version, n, parameters)
    SELECT rest.link, rest.at, p.* FROM rest, jsonb_to_recordset(document -> 'parameters')
        AS p (version int, n bigint, parameters jsonb)
-- END
)
SELECT count(*) FROM head
