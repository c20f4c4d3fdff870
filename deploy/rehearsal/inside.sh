#!/bin/bash
# What rehearse-install.sh does on the machine that it has booted, with the units that a casino runs. What stands in a
# runbook is typed as it stands.
set -euo pipefail
cd /root/release
here=/root/release/deploy/rehearsal
jackpot=/opt/jackpot/bin/jackpot
config=/etc/jackpot/jackpot.toml
started=$(date +%s)
said() { echo "rehearse-install: $(($(date +%s) - started)) s: $*"; }
as() { local who=$1; shift; (cd / && setpriv --reuid="$who" --regid="$who" --init-groups --reset-env "$@"); }
typed() {  # RUNBOOK NUMBER [MOMENT]
  said "$1, block $2"
  bash -euo pipefail -c "$(declare -f editor); $(python3 $here/runbook.py "$1" "$2" | sed "s/2026-11-16 02:00:00+00/${3:-}/")"
}
editor() {
  case "$1" in
    */jackpot.toml) sed -i '/^# -- boards that/,$d' "$1" ;;  # they have an agent of their own here
  esac
}
until_true() {  # SECONDS COMMAND...
  local seconds=$1; shift
  for _ in $(seq $((seconds * 5))); do ! "$@" || return 0; sleep 0.2; done
  said "waited $seconds s in vain for: $*"
  journalctl --no-pager --unit 'jackpot*' --unit 'mosquitto' --unit 'prometheus*' --lines 400 | grep --invert-match award_made | tail --lines 40
  return 1
}
ready() { python3 -c 'import urllib.request as r; r.urlopen("http://127.0.0.1:8080/readyz")' 2>/dev/null; }
restarts() { [ "$(systemctl show --property NRestarts --value "$1")" -ge "$2" ]; }
shows() { tail -n 1 /tmp/board | grep --quiet --fixed-strings -e "$1"; }
asked() { promtool query instant http://127.0.0.1:9090 "$1" 2>/dev/null; }
watched() { [ "$(asked 'up{job=~"jackpot|mosquitto|postgresql|machine"} == 1' | grep --count up)" = 4 ]; }
counted() { asked "jackpot_broker_refused_total{what=\"$1\"} > 0" | grep --quiet refused; }
kept_log() { as postgres psql -XAtc 'SELECT pg_switch_wal()' >/dev/null; }

# A table or a board that is left behind would hold up the end of the machine.
end_jobs() { local job; for job in $(jobs -p); do kill "$job" || true; done; }
trap end_jobs EXIT

typed first-install.md 1
said "once more, which changes nothing"
find /etc /root/jackpot-pki -type f -exec sha256sum {} + | sort >/tmp/before
deploy/install.sh --site Marina --host jackpot.example >/dev/null
find /etc /root/jackpot-pki -type f -exec sha256sum {} + | sort | diff /tmp/before -
for password in /etc/jackpot/secrets/*.password; do
  if grep --recursive --quiet --fixed-strings --file "$password" /var/log/postgresql; then said "$password is in a log"; exit 1; fi
done
typed first-install.md 2
until_true 60 ready
typed first-install.md 3 < <(while sleep 1; do echo "correct horse battery"; done 2>/dev/null)
typed first-install.md 4
typed first-install.md 5
for unit in /etc/systemd/system/jackpot*.service; do
  systemd-analyze security --no-pager --threshold=20 "$(basename "$unit")" | tail -n 1
done

said "a table plays; whoever reads the broker's log hangs; from here on its daemon is killed, hangs, and is replaced"
install -d -m 700 /root/safe
cp -a /root/jackpot-pki /etc/jackpot/secrets/migrate.password /root/safe/
/opt/jackpot/bin/python $here/table.py &
table=$!
systemctl kill --kill-whom=main --signal=STOP jackpot-broker-log
sleep 2
before=$(systemctl show --property NRestarts --value jackpot)
systemctl kill --kill-whom=main --signal=KILL jackpot
until_true 60 restarts jackpot $((before + 1))
until_true 60 ready
said "killed, and back"
systemctl kill --kill-whom=main --signal=STOP jackpot
until_true 90 restarts jackpot $((before + 2))
until_true 60 ready
journalctl --no-pager --quiet --unit jackpot --grep 'Watchdog timeout' --lines 1
until_true 60 restarts jackpot-broker-log 1
until_true 60 systemctl is-active --quiet jackpot-broker-log

typed first-install.md 6
/opt/jackpot/bin/python $here/mails.py 25 >/tmp/mails &
mails=$!
typed first-install.md 7
until_true 60 grep --quiet 'Rehearsal: first-install.md' /tmp/mails
until_true 60 watched
asked 'jackpot_backup_finished_timestamp_seconds' | grep 'of="database"'
kill $mails
typed first-install.md 8

said "a board agent"
$jackpot pki issue board pit-2-agent --folder /root/safe/jackpot-pki >/dev/null
install -m 644 /root/safe/jackpot-pki/boards/holders/pit-2-agent.crt /etc/jackpot/board.crt
install -m 400 -o jackpot /root/safe/jackpot-pki/boards/holders/pit-2-agent.key /etc/jackpot/secrets/board.key
sed -e 's/[a-z]*\.jackpot\.example/jackpot.example/' -e 's|^port = .*|port = "socket://127.0.0.1:4001"|' deploy/boards.toml \
  >/etc/jackpot/boards.toml
/opt/jackpot/bin/python $here/board.py >/tmp/board &
board=$!
systemctl enable --quiet --now jackpot-signs
until_true 30 shows ','

python3 $here/next_release.py /root/release /root/next 0.2.0
cd /root/next
cp -a /root/safe/migrate.password /etc/jackpot/secrets/
typed upgrade.md 1
typed upgrade.md 2
typed upgrade.md 3 &
upgrade=$!
until_true 60 shows '--------'
wait $upgrade
until_true 60 ready
until_true 30 shows ','
typed upgrade.md 4
[ "$(readlink /opt/jackpot)" = /opt/jackpot-0.2.0 ]

said "a moment, and play after it"
moment=$(date --utc '+%Y-%m-%d %H:%M:%S+00')
sleep 2
kept_log
kill $table
wait $table
typed database-lost.md 11
typed database-lost.md 12 "$moment"
said "the board shows $(tail -n 1 /tmp/board), and showed dashes while there was no daemon"
systemctl stop jackpot-signs
until_true 10 shows '--------'
kill $board

said "files are lost: those of the broker, then those of the daemon"
systemctl start jackpot-site-backup.service
systemctl stop mosquitto
rm -rf /etc/mosquitto /etc/systemd/system/{mosquitto.service.d,jackpot*}
typed broker-lost.md 4
until_true 60 ready
until_true 60 counted handshake &
counting=$!
for _ in 1 2 3; do python3 -c 'import socket, ssl
ssl._create_unverified_context().wrap_socket(socket.create_connection(("127.0.0.1", 8883))).recv(1)' 2>/dev/null || true; done
wait $counting
systemctl stop jackpot
rm -rf /etc/jackpot /var/lib/jackpot/heads* /etc/systemd/system/jackpot*
typed daemon-gone.md 4
until_true 60 ready
typed daemon-gone.md 1 >/dev/null
typed daemon-gone.md 6

said "the database is lost, and set back to a moment"
systemctl stop jackpot postgresql
rm -rf /etc/postgresql/jackpot /etc/postgresql/*/main/{conf.d/jackpot.conf,pg_hba.conf} /etc/systemd/system/jackpot*
typed database-lost.md 4
for number in 5 7 8 9; do typed database-lost.md $number; done
typed database-lost.md 6 "$moment"
as jackpot $jackpot verify --config $config
[ -z "$(systemctl --failed --plain --no-legend)" ]
if journalctl --no-pager --unit 'jackpot*' | grep Traceback; then exit 1; fi
