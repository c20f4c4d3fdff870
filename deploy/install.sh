#!/bin/bash
# First install on a bare Debian 12: database, broker and daemon on this machine. The runbook first-install.md says what
# each step is for and how to spread them over several machines. Run as root from the unpacked release:
#   deploy/install.sh --site "Marina" --host jackpot.example [--dist dist]
# It changes nothing that it made before: run it again after a step has failed.
set -euo pipefail

site='' host='' dist=dist
while [ $# -gt 0 ]; do
  case "$1" in
    --site) site=$2 ;;
    --host) host=$2 ;;
    --dist) dist=$2 ;;
    *) echo "usage: $0 --site NAME --host HOSTNAME [--dist DIRECTORY]" >&2; exit 2 ;;
  esac
  shift 2
done
if [ -z "$site" ] || [ -z "$host" ]; then echo "install: name the --site and the --host" >&2; exit 2; fi
[ "$(id -u)" -eq 0 ] || { echo "install: run as root" >&2; exit 2; }
here=$(dirname "$(readlink -f "$0")")
dist=$(readlink -f "$dist")
jackpot=/opt/jackpot/bin/jackpot
pki=/root/jackpot-pki
secrets=/etc/jackpot/secrets
umask 022

step() { echo "install: $*"; }
missing() { [ ! -e "$1" ] && step "$2"; }  # if missing PATH MESSAGE; then make it; fi
put() { install -D -m "$1" -o "${4:-root}" -g "${4:-root}" "$2" "$3"; }  # put MODE FROM TO [OWNER]

packages() {
  local wanted=(python3-venv postgresql mosquitto logrotate openssl)
  dpkg-query --show --showformat='${db:Status-Abbrev}' "${wanted[@]}" 2>/dev/null | grep -qx "\(ii \)\{${#wanted[@]}\}" && return
  step "Debian packages: ${wanted[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
}

program() {
  (cd "$dist" && sha256sum --quiet --check SHA256SUMS)
  local wheel room
  wheel=$(echo "$dist"/jackpot-*.whl)
  # Each version has a directory of its own, and /opt/jackpot leads to the one in use: back is as easy as forth.
  room=/opt/jackpot-$(basename "$wheel" | cut -d- -f2)
  step "the program into $room"
  [ -x "$room/bin/python" ] || python3 -m venv "$room"
  ln -sfn "$room" /opt/jackpot
  local index=()
  [ ! -d "$dist/wheels" ] || index=(--no-index --find-links "$dist/wheels")
  /opt/jackpot/bin/pip install --quiet --disable-pip-version-check "${index[@]}" --require-hashes \
    --requirement "$dist/requirements.txt"
  /opt/jackpot/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$wheel"
  getent passwd jackpot >/dev/null \
    || useradd --system --user-group --home-dir /var/lib/jackpot --shell /usr/sbin/nologin jackpot
  install -d -m 750 -o jackpot -g jackpot /var/lib/jackpot
  install -d -m 755 /etc/jackpot
  install -d -m 750 -g jackpot "$secrets"
  for script in archive-wal backup restore rehearse; do put 755 "$here/backup/$script.sh" "/usr/lib/jackpot/$script.sh"; done
  mkdir -p /opt/jackpot/share
  cp -r "$here" /opt/jackpot/share/
}

certificates() {
  if missing "$pki" "authorities in $pki: carry them off this machine when all is done"; then
    "$jackpot" pki init --site "$site" --folder "$pki" >/dev/null
  fi
  if missing "$pki/servers/holders/$host.crt" "certificates of broker, database and controller"; then
    "$jackpot" pki issue server "$host" --also localhost --also 127.0.0.1 --folder "$pki" >/dev/null
    "$jackpot" pki issue controller "$(hostname -s)-control" --folder "$pki" >/dev/null
  fi
  local server=$pki/servers/holders/$host controller
  controller=$pki/controllers/holders/$(hostname -s)-control
  put 644 "$pki/servers/authority.crt" /etc/jackpot/servers.crt
  put 644 "$controller.crt" /etc/jackpot/controller.crt
  put 400 "$controller.key" "$secrets/controller.key" jackpot
  for kind in tables boards controllers; do
    put 644 "$pki/$kind/authority.crt" "/etc/mosquitto/jackpot/$kind.crt"
    put 644 "$pki/$kind/revoked.crl" "/etc/mosquitto/jackpot/$kind.crl"
    put 644 "$here/mosquitto/$kind.acl" "/etc/mosquitto/jackpot/$kind.acl"
  done
  put 644 "$server.crt" /etc/mosquitto/jackpot/broker.crt
  put 400 "$server.key" /etc/mosquitto/jackpot/broker.key mosquitto
  put 644 "$server.crt" /etc/postgresql/jackpot/server.crt
  put 400 "$server.key" /etc/postgresql/jackpot/server.key postgres
}

secret_files() {
  for role in migrate settle console finance audit metrics replica; do
    if missing "$secrets/$role.password" "a password for the role $role"; then
      (umask 077 && openssl rand -base64 24 >"$secrets/$role.password")
    fi
  done
  if missing "$secrets/heads.key" "the key that signs heads; give /etc/jackpot/heads.pub to the auditors"; then
    "$jackpot" heads new-key --key "$secrets/heads.key" --public /etc/jackpot/heads.pub >/dev/null
  fi
  if missing "$secrets/UTH-01.event-key" "a key for the events of UTH-01, the example's table"; then
    "$jackpot" pki event-key "$secrets/UTH-01.event-key" >/dev/null
  fi
  # The daemon reads what is its own; the other passwords are for root to hand on.
  chown jackpot: "$secrets"/{settle,console}.password "$secrets/heads.key" "$secrets"/*.event-key
  chmod 400 "$secrets"/*
}

configuration() {
  for name in jackpot migrate; do
    if missing "/etc/jackpot/$name.toml" "/etc/jackpot/$name.toml, from the example: edit it to be your floor"; then
      sed "s/[a-z]*\.jackpot\.example/$host/" "$here/$name.toml" >"/etc/jackpot/$name.toml"
    fi
  done
  put 644 "$here/mosquitto/mosquitto.conf" /etc/mosquitto/mosquitto.conf
  put 644 "$here/mosquitto/service.conf" /etc/systemd/system/mosquitto.service.d/jackpot.conf
  put 644 "$here/logrotate/jackpot" /etc/logrotate.d/jackpot
  put 644 "$here/journald.conf" /etc/systemd/journald.conf.d/jackpot.conf
  for unit in "$here"/systemd/*; do put 644 "$unit" "/etc/systemd/system/$(basename "$unit")"; done
}

restart() {
  systemctl daemon-reload
  systemctl enable --quiet "$1"
  systemctl restart "$1"
}

as_postgres() {
  (cd / && setpriv --reuid=postgres --regid=postgres --init-groups --reset-env psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@")
}

database() {
  step "database: settings, roles, schema, grants"
  version=$(pg_lsclusters --no-header | awk '$2 == "main" { print $1 }')
  put 644 "$here/postgresql/jackpot.conf" "/etc/postgresql/$version/main/conf.d/jackpot.conf"
  put 640 "$here/postgresql/pg_hba.conf" "/etc/postgresql/$version/main/pg_hba.conf" postgres
  install -d -m 700 -o postgres -g postgres /var/backups/jackpot
  restart postgresql
  as_postgres <"$here/postgresql/roles.sql"
  for role in migrate settle console finance audit metrics replica; do
    printf "ALTER ROLE jackpot_%s PASSWORD '%s';\n" "$role" "$(cat "$secrets/$role.password")"
  done | as_postgres
  [ "$(as_postgres -At -c "SELECT count(*) FROM pg_database WHERE datname = 'jackpot'")" = 1 ] \
    || as_postgres -c "CREATE DATABASE jackpot OWNER jackpot_owner"
  "$jackpot" migrate --config /etc/jackpot/migrate.toml
  { echo 'SET ROLE jackpot_owner;'; cat "$here/postgresql/grants.sql"; } | as_postgres jackpot
}

packages
program
certificates
secret_files
configuration
database
step "broker"
restart mosquitto
step "daemon"
restart jackpot.service
systemctl enable --quiet --now jackpot-backup.timer
step "done. Next: make the first engineer (jackpot user add), then look at jackpot check."
