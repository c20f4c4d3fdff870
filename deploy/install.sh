#!/bin/bash
# First install on a bare Debian 12: database, broker, daemon and what watches them on this machine. The runbook
# first-install.md says what each step is for and how to spread them over several machines. Run as root from the unpacked
# release:
#   deploy/install.sh --site "Marina" --host jackpot.example [--dist DIRECTORY] [PART...]
# Without a PART all of them, in this order. Run it again after one has failed, or with a newer release: authorities, keys,
# passwords and configurations are made once, and a file that was edited here stays. The part `beside` alone puts the new
# program beside the one in use.
set -euo pipefail

all=(packages program certificates keys configuration database passwords schema broker daemon watch)
here=$(dirname "$(readlink -f "$0")")
site='' host='' dist=$(dirname "$here") parts=()
[ -e "$dist/SHA256SUMS" ] || dist=$dist/dist  # in a checkout, not a release
while [ $# -gt 0 ]; do
  case "$1" in
    --site) site=$2; shift ;;
    --host) host=$2; shift ;;
    --dist) dist=$2; shift ;;
    *)
      [[ " ${all[*]} beside " == *" $1 "* ]] \
        || { echo "usage: $0 --site NAME --host HOSTNAME [--dist DIRECTORY] [PART...]; parts: ${all[*]}" >&2; exit 2; }
      parts+=("$1")
      ;;
  esac
  shift
done
if [ -z "$site" ] || [ -z "$host" ]; then echo "install: name the --site and the --host" >&2; exit 2; fi
[ "$(id -u)" -eq 0 ] || { echo "install: run as root" >&2; exit 2; }
dist=$(readlink -f "$dist")
jackpot=/opt/jackpot/bin/jackpot
pki=/root/jackpot-pki
secrets=/etc/jackpot/secrets
umask 022

step() { echo "install: $*"; }
missing() { [ ! -e "$1" ] && step "$2"; }  # if missing PATH MESSAGE; then make it; fi
put() { install -D -m "$1" -o "${4:-root}" -g "${4:-root}" "$2" "$3"; }  # put MODE FROM TO [OWNER]
# The same for a file that may be edited here. One that was stays, and this release's is laid beside it, under a name that
# Debian's programs pass over. What was put last is remembered, to tell the two apart.
put_editable() {
  local last=/var/lib/jackpot-install$3
  if [ ! -e "$last" ] || [ ! -e "$3" ] || cmp --quiet "$3" "$last" || cmp --quiet "$3" "$2"; then
    put "$@"
  elif ! cmp --quiet "$2" "$last"; then
    step "$3 was edited here and stays; this release's is $3.dpkg-dist: bring over what is new in it"
    put "$1" "$2" "$3.dpkg-dist" "${4:-root}"
  fi
  put 600 "$2" "$last"
}

packages() { need python3-venv postgresql mosquitto logrotate openssl zstd; }

need() {  # Debian's packages, where they are missing
  dpkg-query --show --showformat='${db:Status-Abbrev}' "$@" 2>/dev/null | grep -qx "\(ii \)\{$#\}" && return
  step "Debian packages: $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Each version has a directory of its own, and /opt/jackpot leads to the one in use: back is as easy as forth.
beside() {
  (cd "$dist" && sha256sum --quiet --check SHA256SUMS)
  local wheel index=()
  wheel=$(echo "$dist"/jackpot-*.whl)
  room=/opt/jackpot-$(basename "$wheel" | cut -d- -f2)
  [ ! -e "$room/installed" ] || ! cmp --quiet "$dist/SHA256SUMS" "$room/installed" || return 0
  step "the program into $room"
  [ -x "$room/bin/python" ] || python3 -m venv "$room"
  [ ! -d "$dist/wheels" ] || index=(--no-index --find-links "$dist/wheels")
  "$room/bin/pip" install --quiet --disable-pip-version-check "${index[@]}" --require-hashes --requirement "$dist/requirements.txt"
  "$room/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$wheel"
  rm -rf "$room/share/deploy"
  mkdir -p "$room/share"
  cp -r "$here" "$room/share/deploy"
  cp "$dist/SHA256SUMS" "$room/installed"
}

program() {
  local room
  beside
  ln -sfn "$room" /opt/jackpot
  getent passwd jackpot >/dev/null \
    || useradd --system --user-group --home-dir /var/lib/jackpot --shell /usr/sbin/nologin jackpot
  install -d -m 750 -o jackpot -g jackpot /var/lib/jackpot
  install -d -m 755 /etc/jackpot
  install -d -m 750 -g jackpot "$secrets"
  for script in "$here"/backup/*.sh; do put 755 "$script" "/usr/lib/jackpot/$(basename "$script")"; done
}

certificates() {
  if [ ! -e "$pki" ] && [ -e /etc/jackpot/servers.crt ]; then
    step "certificates stay as they are: the authorities are not here. For new ones bring them back to $pki, and run this again"
    return
  fi
  if missing "$pki" "authorities in $pki: carry them off this machine when all is done"; then
    "$jackpot" pki init --site "$site" --folder "$pki" >/dev/null
  fi
  local server=$pki/servers/holders/$host name controller
  name=$(hostname -s)-control
  controller=$pki/controllers/holders/$name
  if missing "$controller.crt" "the controller's certificate"; then
    "$jackpot" pki issue controller "$name" --folder "$pki" >/dev/null
  fi
  if missing "$server.crt" "the certificate of broker and database"; then
    "$jackpot" pki issue server "$host" --also localhost --also 127.0.0.1 --folder "$pki" >/dev/null
  fi
  put 644 "$pki/servers/authority.crt" /etc/jackpot/servers.crt
  put 644 "$controller.crt" /etc/jackpot/controller.crt
  put 400 "$controller.key" "$secrets/controller.key" jackpot
  for kind in tables boards controllers; do
    put 644 "$pki/$kind/authority.crt" "/etc/mosquitto/jackpot/$kind.crt"
    put 644 "$pki/$kind/revoked.crl" "/etc/mosquitto/jackpot/$kind.crl"
  done
  put 644 "$server.crt" /etc/mosquitto/jackpot/broker.crt
  put 400 "$server.key" /etc/mosquitto/jackpot/broker.key mosquitto
  put 644 "$pki/servers/authority.crt" /etc/postgresql/jackpot/servers.crt
  put 644 "$server.crt" /etc/postgresql/jackpot/server.crt
  put 400 "$server.key" /etc/postgresql/jackpot/server.key postgres
}

keys() {
  if missing "$secrets/heads.key" "the key that signs heads; give /etc/jackpot/heads.pub to the auditors"; then
    "$jackpot" heads new-key --key "$secrets/heads.key" --public /etc/jackpot/heads.pub >/dev/null
  fi
  if [ ! -e /etc/jackpot/jackpot.toml ] && missing "$secrets/UTH-01.event-key" "a key for the events of UTH-01, the example's table"; then
    "$jackpot" pki event-key "$secrets/UTH-01.event-key" >/dev/null
  fi
  if missing "$secrets/people.key" "the key that seals accounts and orders; a second daemon gets the same"; then
    "$jackpot" user new-key "$secrets/people.key" >/dev/null
  fi
  for key in "$secrets"/{heads,people}.key "$secrets"/*.event-key; do own_secret "$key"; done
}

own_secret() {  # the daemon reads it, and nobody else
  [ ! -e "$1" ] || { chown jackpot: "$1"; chmod 400 "$1"; }
}

configuration() {
  for name in jackpot migrate; do
    if missing "/etc/jackpot/$name.toml" "/etc/jackpot/$name.toml, from the example: edit it to be your floor"; then
      sed "s/[a-z]*\.jackpot\.example/$host/" "$here/$name.toml" >"/etc/jackpot/$name.toml"
    fi
  done
  put_editable 644 "$here/mosquitto/mosquitto.conf" /etc/mosquitto/mosquitto.conf
  for kind in boards controllers; do
    put_editable 644 "$here/mosquitto/$kind.acl" "/etc/mosquitto/jackpot/$kind.acl"
  done
  if missing /etc/mosquitto/jackpot/tables.acl "what tables may do at the broker: make it anew when the links are your own"; then
    install -d /etc/mosquitto/jackpot
    "$jackpot" pki acl --config /etc/jackpot/jackpot.toml >/etc/mosquitto/jackpot/tables.acl
  fi
  put_editable 644 "$here/mosquitto/service.conf" /etc/systemd/system/mosquitto.service.d/jackpot.conf
  put_editable 644 "$here/logrotate/jackpot" /etc/logrotate.d/jackpot
  put_editable 644 "$here/journald.conf" /etc/systemd/journald.conf.d/jackpot.conf
  for unit in "$here"/systemd/*; do put_editable 644 "$unit" "/etc/systemd/system/$(basename "$unit")"; done
}

restart() {
  systemctl daemon-reload
  systemctl enable --quiet "$@"
  systemctl restart "$@"
}

each_night() {
  install -d -m 700 /var/backups/jackpot-site
  systemctl enable --quiet --now jackpot-site-backup.timer
}

as_postgres() {
  (cd / && setpriv --reuid=postgres --regid=postgres --init-groups --reset-env psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@")
}

database() {
  step "database: settings and roles"
  local version
  version=$(pg_lsclusters --no-header | awk '$2 == "main" { print $1 }')
  put_editable 644 "$here/postgresql/jackpot.conf" "/etc/postgresql/$version/main/conf.d/jackpot.conf"
  put_editable 640 "$here/postgresql/pg_hba.conf" "/etc/postgresql/$version/main/pg_hba.conf" postgres
  install -d -m 700 -o postgres -g postgres /var/backups/jackpot
  restart postgresql
  as_postgres <"$here/postgresql/roles.sql"
  [ "$(as_postgres -At -c "SELECT count(*) FROM pg_database WHERE datname = 'jackpot'")" = 1 ] \
    || as_postgres -c "CREATE DATABASE jackpot OWNER jackpot_owner"
  systemctl enable --quiet --now jackpot-backup.timer
  each_night
}

passwords() {  # for roles that have none: whoever carried one away goes on using it
  local role without verifier
  without=$(as_postgres -At -c \
    "SELECT substr(rolname, 9) FROM pg_authid WHERE rolname LIKE 'jackpot\_%' AND rolcanlogin AND rolpassword IS NULL")
  for role in $without; do
    if missing "$secrets/$role.password" "a password for the role $role"; then
      (umask 077 && openssl rand -base64 24 >"$secrets/$role.password")
    fi
    # The server logs who changed what (log_statement). It is told what it keeps of the password, and never the password.
    verifier=$("$jackpot" pki scram "$secrets/$role.password")
    printf "SET log_statement = 'none'; ALTER ROLE jackpot_%s PASSWORD '%s';\n" "$role" "$verifier" | as_postgres
  done
  # The others are for root to hand on.
  for role in settle console; do own_secret "$secrets/$role.password"; done
}

schema() {
  step "database: schema and grants"
  "$jackpot" migrate --config /etc/jackpot/migrate.toml
  { echo 'SET ROLE jackpot_owner;'; cat "$here/postgresql/grants.sql"; } | as_postgres jackpot
}

broker() {
  step "broker"
  restart mosquitto
  restart jackpot-broker-log
  each_night
}

daemon() {
  systemctl daemon-reload
  each_night
  # The first start is the operator's, with a configuration of their own: a link that was once seen is in the ledger for good.
  if systemctl is-enabled --quiet jackpot.service; then
    step "daemon"
    systemctl restart jackpot.service
  else
    step "next: make /etc/jackpot/jackpot.toml your own, then: systemctl enable --now jackpot"
  fi
}

watch() {
  need prometheus prometheus-alertmanager prometheus-node-exporter prometheus-postgres-exporter
  step "what watches: Prometheus, whom it tells, and what it asks"
  for file in prometheus alerts alertmanager; do put_editable 644 "$here/prometheus/$file.yml" "/etc/prometheus/$file.yml"; done
  for file in "$here"/prometheus/default/*; do put_editable 644 "$file" "/etc/default/$(basename "$file")"; done
  [ ! -e "$secrets/metrics.password" ] || put 400 "$secrets/metrics.password" /etc/prometheus/jackpot-metrics.password prometheus
  # The backup tells there when it was made; its account may write this file and no other.
  local told=/var/lib/prometheus/node-exporter/jackpot-backup.prom
  [ -e "$told" ] || ! getent group postgres >/dev/null || install -m 664 -g postgres /dev/null "$told"
  restart prometheus prometheus-alertmanager prometheus-node-exporter prometheus-postgres-exporter
}

[ ${#parts[@]} -gt 0 ] || parts=("${all[@]}")
for part in "${parts[@]}"; do "$part"; done
step "done"
