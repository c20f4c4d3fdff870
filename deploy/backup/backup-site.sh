#!/bin/bash
# What the successor of a lost machine needs beside the database: configurations, certificates and keys, keys of tables'
# events, signed heads. Run as root, by jackpot-site-backup.timer every night, on every machine. The copy is root's alone, for
# there are keys in it; carried elsewhere it goes encrypted. The authorities are not in it: they are in the safe.
#   backup-site.sh [ROOT]
set -euo pipefail
umask 077
root=${1:-/}
place=${JACKPOT_SITE_BACKUP:-/var/backups/jackpot-site}
keep=${JACKPOT_BACKUP_KEEP:-14}
told=${JACKPOT_SITE_BACKUP_TOLD:-/var/lib/prometheus/node-exporter/jackpot-site-backup.prom}
name=site-$(date --utc +%Y%m%dT%H%M%SZ).tar.zst

mkdir -p "$place"
cd "$root"
shopt -s nullglob
# What is not on this machine is left out by the shell: each of these is a pattern.
parts=(etc/jackpot* etc/mosquitto* etc/postgresql/jackpot* etc/postgresql/*/main/conf.d/jackpot.conf \
  etc/postgresql/*/main/pg_hba.conf etc/prometheus* etc/default/prometheus* etc/systemd/system/{jackpot*,var-log-mosquitto.mount*} \
  etc/systemd/system/mosquitto.service.d* etc/logrotate.d/jackpot* etc/nginx/{jackpot*,sites-available/jackpot*} \
  var/lib/jackpot/heads*)
tar --create --zstd --file="$place/.new" "${parts[@]}"
sync "$place/.new"
mv "$place/.new" "$place/$name"
ln -sfn "$name" "$place/newest.tar.zst"
sync -f "$place"

mapfile -t old < <(find "$place" -name 'site-*.tar.zst' | sort -r | tail -n "+$((keep + 1))")
for copy in "${old[@]}"; do rm "$copy"; done
# For the alert BackupOld, where a node exporter reads it.
umask 022
[ ! -d "$(dirname "$told")" ] || printf 'jackpot_backup_finished_timestamp_seconds{of="site"} %(%s)T\n' -1 >"$told"
echo "backup-site: $place/$name"
