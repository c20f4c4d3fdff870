#!/bin/bash
# Run once by the database's container, as its superuser: our settings from its next start on, what it keeps of the roles'
# passwords, and the database.
set -euo pipefail
echo "include '/etc/postgresql/jackpot/jackpot.conf'" >>"$PGDATA/postgresql.conf"
for role in migrate settle console finance audit metrics replica; do
  printf "ALTER ROLE jackpot_%s PASSWORD '%s';\n" "$role" "$(cat "/run/secrets/$role.scram")"
done | psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --command='CREATE DATABASE jackpot OWNER jackpot_owner'
