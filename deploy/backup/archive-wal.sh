#!/bin/sh
# PostgreSQL's archive_command: keeps one finished piece of the log, compressed, for a minute of a quiet floor fills a
# hundredth of its 16 MiB. It is on the disk, whole, before it has its name; PostgreSQL asks again until this succeeds,
# and removes nothing before.
#   archive-wal.sh PATH NAME
set -eu
umask 077
archive=${JACKPOT_BACKUP:-/var/backups/jackpot}/wal
mkdir -p "$archive"
if [ -e "$archive/$2.zst" ]; then
  # Asked again after a crash between our success and PostgreSQL's note of it: the same piece is fine, another is not.
  zstd -qdc "$archive/$2.zst" | cmp -s - "$1"
  exit
fi
zstd -qc <"$1" >"$archive/.$2.new"
sync "$archive/.$2.new"
ln "$archive/.$2.new" "$archive/$2.zst"  # never in the place of another
rm "$archive/.$2.new"
sync "$archive"
