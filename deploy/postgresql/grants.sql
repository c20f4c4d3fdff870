-- What each role may do in the database `jackpot`. Run as jackpot_migrate after every `jackpot migrate`: it takes
-- everything away and gives back what stands here, so a table that is new to the schema is nobody's until it is named.

DO $$
BEGIN
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format(
        'GRANT CONNECT ON DATABASE %I TO jackpot_migrate, jackpot_settle, jackpot_console, jackpot_finance, '
        'jackpot_audit, jackpot_metrics', current_database());
END $$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO jackpot_settle, jackpot_console, jackpot_finance, jackpot_audit, jackpot_metrics;
REVOKE ALL ON ALL TABLES IN SCHEMA public
    FROM PUBLIC, jackpot_settle, jackpot_console, jackpot_finance, jackpot_audit, jackpot_metrics;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public
    FROM PUBLIC, jackpot_settle, jackpot_console, jackpot_finance, jackpot_audit, jackpot_metrics;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;

-- Every program asks first whether the schema is the one it knows.
GRANT SELECT ON alembic_version TO jackpot_settle, jackpot_console, jackpot_finance, jackpot_audit;

-- -- settle: the desk, its lease, its requests and what could not be read ------------------------------------------
-- Facts are added and never changed: no UPDATE, DELETE or TRUNCATE on any of them.
GRANT SELECT, INSERT ON events, journals, entries, awards, payments, meter_reports, parameters TO jackpot_settle;

-- Where a link stands. Its name stays; a link, a round or a lease is never deleted.
GRANT SELECT, INSERT (link) ON links TO jackpot_settle;
GRANT UPDATE (epoch, n, chain, at, journal, entry, award, wagered, recoverable, pool, reserve, house, awarded,
    suspended, parameters_version, parameters, parameters_next, tables, sent) ON links TO jackpot_settle;
GRANT SELECT, INSERT, UPDATE (phase, n, document) ON rounds TO jackpot_settle;
GRANT SELECT, INSERT, DELETE ON unpaid TO jackpot_settle;
GRANT SELECT, INSERT, UPDATE (holder, epoch, expires_at, asked_by) ON leases TO jackpot_settle;

-- It answers what people ask of it, and looks who they are; it asks nothing in their name.
GRANT SELECT, UPDATE (answer) ON requests TO jackpot_settle;
GRANT SELECT ON proposals TO jackpot_settle;
GRANT SELECT (name, role, disabled_at, confirmed_by) ON people TO jackpot_settle;
-- `jackpot user` at the terminal: an account that was made there is confirmed by that, and by nothing that the console can do.
GRANT EXECUTE ON FUNCTION vouch_at_terminal(text, text, bytea) TO jackpot_settle;

GRANT SELECT, INSERT (at, topic, payload, code, message), DELETE ON quarantine TO jackpot_settle;
GRANT USAGE ON SEQUENCE quarantine_id_seq TO jackpot_settle;

-- -- console: people, what they ask and what they did ---------------------------------------------------------------
GRANT SELECT ON events, journals, entries, awards, payments, meter_reports, parameters, links, rounds, unpaid, leases,
    quarantine, postings TO jackpot_console;

-- A request is left and never changed; its time and its answer are not the console's to write. What it may say, and who must
-- have approved it, triggers see to; that a console wrote it, its seal.
GRANT SELECT, INSERT (id, link, command, seal) ON requests TO jackpot_console;

-- The trail: who, what and from where. When is the database's word.
GRANT SELECT, INSERT (by, action, subject, address, detail) ON audit TO jackpot_console;
GRANT USAGE ON SEQUENCE audit_id_seq TO jackpot_console;

-- A proposal is made undecided, and decided later.
GRANT SELECT, INSERT (kind, link, command, by, seal), UPDATE (approved_by, rejected_by, decided_at, request)
    ON proposals TO jackpot_console;
GRANT USAGE ON SEQUENCE proposals_number_seq TO jackpot_console;

-- An account is made unconfirmed. It is disabled for good, never deleted, and never gets another role.
GRANT SELECT, INSERT (name, role, password, must_change, created_by, seal),
    UPDATE (password, must_change, disabled_at, confirmed_by, seal) ON people TO jackpot_console;
GRANT SELECT, INSERT (hash, person, seal), UPDATE (seen_at, note), DELETE ON sessions TO jackpot_console;
GRANT SELECT, INSERT (id, hash, person, label, expires_at, seal), UPDATE (revoked_at) ON tokens TO jackpot_console;
GRANT SELECT, INSERT (name, address), DELETE ON login_attempts TO jackpot_console;
GRANT USAGE ON SEQUENCE login_attempts_id_seq TO jackpot_console;

-- -- finance: the books ----------------------------------------------------------------------------------------------
GRANT SELECT ON events, journals, entries, awards, payments, meter_reports, parameters, links, rounds, unpaid, postings,
    proposals TO jackpot_finance;

-- -- audit: everything but what lets one in --------------------------------------------------------------------------
GRANT SELECT ON events, journals, entries, awards, payments, meter_reports, parameters, links, rounds, unpaid, leases,
    requests, quarantine, postings, audit, proposals, login_attempts TO jackpot_audit;
GRANT SELECT (name, role, must_change, created_at, created_by, disabled_at, confirmed_by) ON people TO jackpot_audit;
GRANT SELECT (person, created_at, seen_at) ON sessions TO jackpot_audit;
GRANT SELECT (id, person, label, created_at, expires_at, revoked_at) ON tokens TO jackpot_audit;

-- -- metrics ---------------------------------------------------------------------------------------------------------
GRANT SELECT (link, n, at, suspended) ON links TO jackpot_metrics;
GRANT SELECT ON leases TO jackpot_metrics;
