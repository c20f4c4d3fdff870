#!/bin/bash
# A whole copy of the database server, checked, then compressed; with the log pieces that archive-wal.sh keeps, any moment
# since can be restored. Run as the account postgres, by jackpot-backup.timer every night. Keeps the newest copies and the
# log that they need.
#   backup.sh [HOST]     HOST: a socket directory or host name; absent: PostgreSQL's own default
#   backup.sh --prune    no new copy: makes room where there is none for one, by JACKPOT_BACKUP_KEEP, 1 or more
set -euo pipefail
umask 077
# Debian keeps the server's programs aside.
command -v pg_ctl >/dev/null || PATH=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -n 1):$PATH
place=${JACKPOT_BACKUP:-/var/backups/jackpot}
keep=${JACKPOT_BACKUP_KEEP:-14}
told=${JACKPOT_BACKUP_TOLD:-/var/lib/prometheus/node-exporter/jackpot-backup.prom}
new=$place/unfinished
[[ $keep =~ ^[1-9][0-9]*$ ]] || { echo "backup: JACKPOT_BACKUP_KEEP is how many copies, 1 or more" >&2; exit 2; }

prune() {
  local old copy oldest first
  mapfile -t old < <(find "$place" -maxdepth 1 -name 'base-*' | sort -r | tail -n "+$((keep + 1))")
  for copy in "${old[@]}"; do rm -rf "$copy"; done
  oldest=$(find "$place" -maxdepth 1 -name 'base-*' | sort | head -n 1)
  [ -n "$oldest" ] || { echo "backup: no copy yet, so all of the log stays"; return; }
  first=$(awk '/^START WAL LOCATION/ { gsub(/[()]/, "", $6); print $6 }' "$oldest/backup_label")
  pg_archivecleanup -x .zst "$place/wal" "$first"
}
mkdir -p "$place/wal"
if [ "${1:-}" = --prune ]; then
  prune
  echo "backup: the newest $keep are kept, $(du -sh "$place" | cut -f 1) in all"
  exit
fi

rm -rf "$new"
# One that failed takes the room that the log needs.
trap 'rm -rf "$new"' EXIT
mkdir "$new"
pg_basebackup ${1:+--host="$1"} --pgdata="$new/data" --checkpoint=fast --wal-method=stream --no-password
# Named after its end, by the server's clock: it restores moments after that, and none before.
name=base-$(psql ${1:+--host="$1"} --no-psqlrc --no-password --tuples-only --no-align --command \
  "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC' + interval '1 second', 'YYYYMMDD\"T\"HH24MISS\"Z\"')" postgres)
pg_verifybackup --quiet "$new/data"
cp "$new/data/backup_label" "$new/"
tar --create --directory="$new/data" . | zstd -qc >"$new/data.tar.zst"
rm -r "$new/data"
sync -f "$new/data.tar.zst"
mv "$new" "$place/$name"
sync -f "$place"

prune
# For the alert BackupOld, where a node exporter reads it.
[ ! -w "$told" ] || printf 'jackpot_backup_finished_timestamp_seconds{of="database"} %(%s)T\n' -1 >"$told"
echo "backup: $place/$name, $(du -sh "$place" | cut -f 1) in all"
