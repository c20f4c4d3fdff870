#!/bin/bash
# Waits until a server that restore.sh has made has recovered, tells to which moment, and makes it one like any other. Fails if
# it has ended instead, or holds what came after the moment. Run as the account postgres; psql's own variables say which server.
#   recovered.sh [MOMENT]     as it was given to restore.sh
set -euo pipefail
moment=${1:-} gone=0
ask() { psql --no-psqlrc --no-password --tuples-only --no-align --username=postgres --command="$1" postgres 2>/dev/null; }
for _ in $(seq 21600); do
  state=$(ask 'SELECT pg_is_in_recovery()') || state=
  [ "$state" != f ] || break
  # 2: nobody answers at all. While it recovers it answers, if only to say so.
  if pg_isready --quiet || [ $? -ne 2 ]; then gone=0; else gone=$((gone + 1)); fi
  [ $gone -lt 5 ] || { echo "recovered: the server has ended; its log says why (the moment is not in the log kept?)" >&2; exit 1; }
  sleep 1
done
[ "$state" = f ] || { echo "recovered: it is still recovering after six hours" >&2; exit 1; }
last=$(ask "SELECT pg_last_xact_replay_timestamp() AT TIME ZONE 'UTC'")
if [ -n "$moment" ] && [ "$(ask "SELECT coalesce(pg_last_xact_replay_timestamp() <= '$moment', true)")" != t ]; then
  echo "recovered: to $last UTC, which is after $moment" >&2
  exit 1
fi
# A standby made from this server must not stop there as well.
for setting in recovery_target_time recovery_target_action restore_command; do ask "ALTER SYSTEM RESET $setting" >/dev/null; done
echo "recovered: the last commit is of ${last:-before the copy was made}${last:+ UTC}"
