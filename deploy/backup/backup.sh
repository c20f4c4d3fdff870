#!/bin/bash
# A whole copy of the database server, checked; with the log pieces that archive-wal.sh keeps, any moment since can be
# restored. Run as the account postgres, by jackpot-backup.timer every night. Keeps the newest copies and the log that
# they need.
#   backup.sh [HOST]     HOST: a socket directory or host name; absent: PostgreSQL's own default
set -euo pipefail
umask 077
# Debian keeps the server's programs aside.
command -v pg_ctl >/dev/null || PATH=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -n 1):$PATH
place=${JACKPOT_BACKUP:-/var/backups/jackpot}
keep=${JACKPOT_BACKUP_KEEP:-14}
name=base-$(date -u +%Y%m%dT%H%M%SZ)

mkdir -p "$place/wal"
rm -rf "$place/unfinished"
pg_basebackup ${1:+--host="$1"} --pgdata="$place/unfinished" --checkpoint=fast --wal-method=stream --no-password
pg_verifybackup --quiet "$place/unfinished"
sync -f "$place"
mv "$place/unfinished" "$place/$name"

mapfile -t old < <(find "$place" -maxdepth 1 -name 'base-*' | sort -r | tail -n "+$((keep + 1))")
for copy in "${old[@]}"; do rm -rf "$copy"; done
oldest=$(find "$place" -maxdepth 1 -name 'base-*' | sort | head -n 1)
first=$(awk '/^START WAL LOCATION/ { gsub(/[()]/, "", $6); print $6 }' "$oldest/backup_label")
pg_archivecleanup "$place/wal" "$first"
echo "backup: $place/$name"
