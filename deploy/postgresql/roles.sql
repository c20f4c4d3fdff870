-- The roles of a site's database server. Run once by a superuser; running it again changes nothing.
--
--   jackpot_owner    owns the database and all in it; nobody signs in as it
--   jackpot_migrate  signs in to upgrade the schema, and acts as the owner
--   jackpot_settle   the daemon: writes facts, never changes them
--   jackpot_console  the daemon's console, and orders from the terminal: people and requests, no money
--   jackpot_finance  reads the books
--   jackpot_audit    reads everything but secrets
--   jackpot_metrics  reads how the server and the links are
--   jackpot_replica  copies the server: standby and backup
--
-- Passwords are set from files, never here; see the runbook of the first install.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['owner', 'migrate', 'settle', 'console', 'finance', 'audit', 'metrics', 'replica'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'jackpot_' || role) THEN
            EXECUTE format('CREATE ROLE %I', 'jackpot_' || role);
        END IF;
    END LOOP;
END $$;

ALTER ROLE jackpot_owner NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
ALTER ROLE jackpot_migrate LOGIN NOINHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 3;
ALTER ROLE jackpot_settle LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 60;
ALTER ROLE jackpot_console LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 30;
ALTER ROLE jackpot_finance LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 5;
ALTER ROLE jackpot_audit LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 5;
ALTER ROLE jackpot_metrics LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 3;
ALTER ROLE jackpot_replica LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE REPLICATION NOBYPASSRLS CONNECTION LIMIT 5;

SET client_min_messages = warning;
-- NOINHERIT and this: what the role makes belongs to the owner, whoever signed in to make it.
GRANT jackpot_owner TO jackpot_migrate;
ALTER ROLE jackpot_migrate SET role = 'jackpot_owner';

GRANT pg_monitor TO jackpot_metrics;

-- A long snapshot keeps dead versions of the hot rows alive and slows every writer down.
ALTER ROLE jackpot_finance SET default_transaction_read_only = on;
ALTER ROLE jackpot_finance SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE jackpot_audit SET default_transaction_read_only = on;
ALTER ROLE jackpot_audit SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE jackpot_metrics SET default_transaction_read_only = on;
ALTER ROLE jackpot_metrics SET statement_timeout = '5s';
