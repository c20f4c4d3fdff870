#!/bin/bash
# A backup that was never restored is a hope. Restores the newest one beside the running server, on a socket of its own,
# and has `jackpot verify` walk its ledger, with the signed heads if they are named. Run as the account postgres.
#   rehearse.sh [HEADS PUBLIC_KEY]
set -euo pipefail
umask 077
# Debian keeps the server's programs aside.
command -v pg_ctl >/dev/null || PATH=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -n 1):$PATH
here=$(dirname "$(readlink -f "$0")")
jackpot=${JACKPOT:-/opt/jackpot/bin/jackpot}
room=$(mktemp -d "${TMPDIR:-/tmp}/rehearsal.XXXXXX")
waited=0
trap 'pg_ctl --pgdata="$room/data" --mode=immediate stop >/dev/null 2>&1 || true; rm -rf "$room"' EXIT

"$here/restore.sh" "$room/data"
# Debian keeps these two outside the data directory, so the copy has none; nobody comes in but us.
echo "local all all peer map=us" >"$room/pg_hba.conf"
printf 'us %s %s\n' "$(id -un)" postgres "$(id -un)" jackpot_audit >"$room/pg_ident.conf"
: >"$room/postgresql.conf"
pg_ctl --pgdata="$room/data" --log="$room/log" --wait --timeout=600 start --options="-c config_file=$room/postgresql.conf \
  -c hba_file=$room/pg_hba.conf -c ident_file=$room/pg_ident.conf -c listen_addresses= -c ssl=off \
  -c unix_socket_directories=$room -c archive_mode=off -c max_connections=200" >/dev/null || { cat "$room/log" >&2; exit 1; }
ask() { psql --host="$room" --username=postgres --no-psqlrc --tuples-only --no-align --command="$1" jackpot; }
until [ "$(ask 'SELECT pg_is_in_recovery()')" = f ]; do
  [ $((waited += 1)) -le 3600 ] || { echo "rehearse: recovery does not end" >&2; exit 1; }
  sleep 1
done

printf '[database]\nurl = "postgresql://jackpot_audit@/jackpot?host=%s"\n' "$room" >"$room/jackpot.toml"
heads=()
[ $# -lt 2 ] || heads=(--heads "$1" --heads-key "$2")
"$jackpot" verify --config "$room/jackpot.toml" "${heads[@]}"
echo "rehearse: the newest backup restores and verifies"
