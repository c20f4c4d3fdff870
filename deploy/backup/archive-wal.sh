#!/bin/sh
# PostgreSQL's archive_command: keeps one finished piece of the log. It is on the disk, whole, before it has its name;
# PostgreSQL asks again until this succeeds, and removes nothing before.
#   archive-wal.sh PATH NAME
set -eu
archive=${JACKPOT_BACKUP:-/var/backups/jackpot}/wal
mkdir -p "$archive"
if [ -e "$archive/$2" ]; then
  # Asked again after a crash between our success and PostgreSQL's note of it: the same piece is fine, another is not.
  exec cmp -s "$1" "$archive/$2"
fi
cp "$1" "$archive/.$2.new"
sync "$archive/.$2.new"
mv "$archive/.$2.new" "$archive/$2"
sync "$archive"
