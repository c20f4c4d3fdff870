#!/bin/bash
# Makes a data directory from a copy and the log that was kept: all of it, or up to a moment. It touches neither the copy nor
# any server; start PostgreSQL on the directory and it recovers by itself, or ends if it cannot reach the moment.
# recovered.sh waits for that, and tells.
#   restore.sh [--old DATA] DIRECTORY [MOMENT]
#     DATA     what is left of the lost server's directory: its log goes further than the one that was kept
#     MOMENT   with its zone, such as '2026-11-16 02:00:00+00'
set -euo pipefail
umask 077
export LC_ALL=C
place=${JACKPOT_BACKUP:-/var/backups/jackpot}
here=$(dirname "$(readlink -f "$0")")
old=
if [ "${1:-}" = --old ]; then old=$2/pg_wal; shift 2; fi
target=${1:?name a directory that is not there yet} moment=${2:-} before='~'
[ ! -e "$target" ] || { echo "restore: $target is there already" >&2; exit 1; }
if [ -n "$moment" ]; then
  [[ $moment =~ :[0-9]{2}(\.[0-9]+)?\ ?(Z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)$ ]] || {
    echo "restore: '$moment' names no zone: write '2026-11-16 02:00:00+00'" >&2; exit 2; }
  before=base-$(date --utc --date="$moment" +%Y%m%dT%H%M%SZ)
  moment=$(date --utc --date="$moment" '+%Y-%m-%d %H:%M:%S.%6N+00')
fi
# The newest that had ended by then: a later one holds what came after, and would begin with it.
copy=$(find "$place" -maxdepth 1 -name 'base-*' -printf '%f\n' | sort | awk -v before="$before" '$0 <= before { found = $0 } END { print found }')
[ -n "$copy" ] || { echo "restore: no copy in $place${moment:+ had ended by $moment}" >&2; exit 1; }

mkdir "$target"
chmod 700 "$target"
tar --extract --zstd --directory="$target" --file="$place/$copy/data.tar.zst"
touch "$target/recovery.signal"
{
  echo "restore_command = '$here/fetch-wal.sh \"$place\" \"%f\" \"%p\" \"$old\"'"
  # Empty: to the end. The copy may be of a server that was itself restored to a moment.
  echo "recovery_target_time = '$moment'"
  echo "recovery_target_action = 'promote'"
  # The copy may name a standby that is not there any more: every commit would wait for it.
  echo "synchronous_standby_names = ''"
} >>"$target/postgresql.auto.conf"
echo "restore: $target from $copy${moment:+, up to $moment}"
