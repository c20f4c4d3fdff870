#!/bin/sh
# PostgreSQL's restore_command, written by restore.sh: a piece of the log that was kept or, where that ends, one that the lost
# server still has. A piece that is there and cannot be read ends the server: to go on without it would be to leave it out.
#   fetch-wal.sh PLACE NAME PATH [PG_WAL]
kept=$1/wal/$2.zst
if [ -e "$kept" ]; then
  zstd -qdc "$kept" >"$3" || exit 126
elif [ -n "${4:-}" ] && [ -e "$4/$2" ]; then
  cp "$4/$2" "$3" || exit 126
else
  exit 1
fi
