#!/bin/bash
# Makes a data directory from the newest copy and all of the log that was kept, up to a moment if one is named. It
# touches neither the copy nor any server; start PostgreSQL on the directory and it recovers by itself.
#   restore.sh DIRECTORY [MOMENT]     MOMENT such as '2026-11-16 02:00:00+00'
set -euo pipefail
umask 077
place=${JACKPOT_BACKUP:-/var/backups/jackpot}
target=${1:?name a directory that is not there yet}
[ ! -e "$target" ] || { echo "restore: $target is there already" >&2; exit 1; }
newest=$(find "$place" -maxdepth 1 -name 'base-*' | sort -r | head -n 1)
[ -n "$newest" ] || { echo "restore: no copy in $place" >&2; exit 1; }

cp -a "$newest" "$target"
chmod 700 "$target"
touch "$target/recovery.signal"
{
  echo "restore_command = 'cp \"$place/wal/%f\" \"%p\"'"
  echo "recovery_target_action = 'promote'"
  # The copy may name a standby that is not there any more: every commit would wait for it.
  echo "synchronous_standby_names = ''"
  if [ -n "${2:-}" ]; then echo "recovery_target_time = '$2'"; fi
} >>"$target/postgresql.auto.conf"
echo "restore: $target from $newest"
