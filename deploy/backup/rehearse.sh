#!/bin/bash
# A backup that was never restored is a hope. Restores beside the running server, on a socket of its own, the newest copy
# with all of the log or up to a moment, and has `jackpot verify` walk its ledger, with the signed heads if they are named.
# Run as the account postgres.
#   rehearse.sh [--moment MOMENT] [HEADS PUBLIC_KEY]     MOMENT with its zone, such as '2026-11-16 02:00:00+00'
set -euo pipefail
umask 077
# Debian keeps the server's programs aside.
command -v pg_ctl >/dev/null || PATH=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -n 1):$PATH
here=$(dirname "$(readlink -f "$0")")
jackpot=${JACKPOT:-/opt/jackpot/bin/jackpot}
moment=
if [ "${1:-}" = --moment ]; then moment=$2; shift 2; fi
room=$(mktemp -d "${TMPDIR:-/tmp}/rehearsal.XXXXXX")
trap 'pg_ctl --pgdata="$room/data" --mode=immediate stop >/dev/null 2>&1 || true; rm -rf "$room"' EXIT

"$here/restore.sh" "$room/data" "$moment"
# Debian keeps these two outside the data directory, so the copy has none; nobody comes in but us.
echo "local all all peer map=us" >"$room/pg_hba.conf"
printf 'us %s %s\n' "$(id -un)" postgres "$(id -un)" jackpot_audit >"$room/pg_ident.conf"
: >"$room/postgresql.conf"
pg_ctl --pgdata="$room/data" --log="$room/log" --wait --timeout=600 start --options="-c config_file=$room/postgresql.conf \
  -c hba_file=$room/pg_hba.conf -c ident_file=$room/pg_ident.conf -c listen_addresses= -c ssl=off \
  -c unix_socket_directories=$room -c archive_mode=off -c max_connections=200" >/dev/null || { cat "$room/log" >&2; exit 1; }
PGHOST=$room "$here/recovered.sh" "$moment" || { cat "$room/log" >&2; exit 1; }

printf '[database]\nurl = "postgresql://jackpot_audit@/jackpot?host=%s"\n' "$room" >"$room/jackpot.toml"
heads=()
if [ $# -ge 2 ] && [ -n "$moment" ]; then
  # Those that were signed by then; the ledger of the moment does not know of later ones.
  awk -v until="$(date --utc --date="$moment" +%Y-%m-%dT%H:%M:%S)" \
    'match($0, /"signed_at":"[^"]*/) && substr($0, RSTART + 13, 19) < until' "$1" >"$room/heads.jsonl"
  if [ -s "$room/heads.jsonl" ]; then heads=(--heads "$room/heads.jsonl" --heads-key "$2"); else echo "rehearse: no head is so old"; fi
elif [ $# -ge 2 ]; then
  heads=(--heads "$1" --heads-key "$2")
fi
"$jackpot" verify --config "$room/jackpot.toml" "${heads[@]}"
echo "rehearse: the backup restores${moment:+ to $moment} and verifies"
