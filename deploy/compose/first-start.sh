#!/bin/bash
# Run once by the database's container, as its superuser: passwords from their files, and the database.
set -euo pipefail
for role in migrate settle console finance audit metrics replica; do
  printf "ALTER ROLE jackpot_%s PASSWORD '%s';\n" "$role" "$(cat "/run/secrets/$role.password")"
done | psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --command='CREATE DATABASE jackpot OWNER jackpot_owner'
