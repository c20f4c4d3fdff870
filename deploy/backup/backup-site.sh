#!/bin/bash
# What the successor of a lost machine needs beside the database: configurations, certificates and keys, keys of tables'
# events, signed heads. Run as root, by jackpot-site-backup.timer every night, on every machine. The copy is root's alone, for
# there are keys in it; carried elsewhere it goes encrypted. What stays on no machine is not in it, whether or not it is here
# tonight: the authorities, and the passwords that first-install.md has carried away.
#   backup-site.sh [ROOT]
set -euo pipefail
umask 077
root=${1:-/}
place=${JACKPOT_SITE_BACKUP:-/var/backups/jackpot-site}
keep=${JACKPOT_BACKUP_KEEP:-14}
told=${JACKPOT_SITE_BACKUP_TOLD:-/var/lib/prometheus/node-exporter/jackpot-site-backup.prom}
[[ $keep =~ ^[1-9][0-9]*$ ]] || { echo "backup-site: JACKPOT_BACKUP_KEEP is how many copies, 1 or more" >&2; exit 2; }
name=site-$(date --utc +%Y%m%dT%H%M%SZ).tar.zst

mkdir -p "$place"
cd "$root"
shopt -s nullglob
# What is not on this machine is left out by the shell: each of these is a pattern.
parts=(etc/jackpot* etc/mosquitto* etc/postgresql/jackpot* etc/postgresql/*/main/conf.d/jackpot.conf \
  etc/postgresql/*/main/pg_hba.conf etc/prometheus* etc/default/prometheus* etc/systemd/system/{jackpot*,var-log-mosquitto.mount*} \
  etc/systemd/system/mosquitto.service.d* etc/systemd/journald.conf.d/jackpot* etc/logrotate.d/jackpot* \
  etc/nginx/{jackpot*,sites-available/jackpot*} var/lib/jackpot/heads* var/lib/jackpot-install*)
# 1: a file grew while it was read, as that of the heads does every minute; what was there is in the copy.
tar --create --zstd --file="$place/.new" --exclude=etc/jackpot/secrets/{migrate,replica,audit,finance}.password "${parts[@]}" \
  || [ $? -eq 1 ]
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
