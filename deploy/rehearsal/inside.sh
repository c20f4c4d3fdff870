#!/bin/bash
# What rehearse-install.sh does on the machine that it has booted, with the units that a casino runs.
set -euo pipefail
cd /root/release
here=deploy/rehearsal
jackpot=/opt/jackpot/bin/jackpot
config=/etc/jackpot/jackpot.toml
said() { echo "rehearse-install: $*"; }
as() { local who=$1; shift; (cd / && setpriv --reuid="$who" --regid="$who" --init-groups --reset-env "$@"); }
until_true() {  # SECONDS COMMAND...
  local seconds=$1; shift
  for _ in $(seq $((seconds * 5))); do ! "$@" || return 0; sleep 0.2; done
  said "waited $seconds s in vain for: $*"
  journalctl --no-pager --unit jackpot --unit jackpot-signs --lines 20
  return 1
}
ready() { python3 -c 'import urllib.request as r; r.urlopen("http://127.0.0.1:8080/readyz")' 2>/dev/null; }
restarts() { [ "$(systemctl show --property NRestarts --value jackpot)" -ge "$1" ] && ready; }
shows() { tail -n 1 /tmp/board | grep --quiet --fixed-strings -e "$1"; }

# A table or a board that is left behind would hold up the end of the machine.
end_jobs() { local job; for job in $(jobs -p); do kill "$job" || true; done; }
trap end_jobs EXIT

said "the install"
deploy/install.sh --site Rehearsal --host jackpot.example
said "once more, which changes nothing"
find /etc /root/jackpot-pki -type f -exec sha256sum {} + | sort >/tmp/before
deploy/install.sh --site Rehearsal --host jackpot.example >/dev/null
find /etc /root/jackpot-pki -type f -exec sha256sum {} + | sort | diff /tmp/before -
sed -i '/^# -- boards that/,$d' $config  # they have an agent of their own here
systemctl enable --quiet --now jackpot
until_true 60 ready
echo "correct horse battery" | as jackpot $jackpot user add emil --role engineer --config $config
as jackpot $jackpot check --config $config
for unit in jackpot jackpot-signs jackpot-backup; do
  systemd-analyze security --no-pager --threshold=20 $unit.service | tail -n 1
done

said "a table plays; from here on its daemon is killed, hangs, and is replaced"
$jackpot pki issue table UTH-01 --folder /root/jackpot-pki >/dev/null
/opt/jackpot/bin/python $here/table.py &
table=$!
sleep 2
before=$(systemctl show --property NRestarts --value jackpot)
systemctl kill --kill-whom=main --signal=KILL jackpot
until_true 60 restarts $((before + 1))
said "killed, and back"
systemctl kill --kill-whom=main --signal=STOP jackpot
until_true 90 restarts $((before + 2))
journalctl --no-pager --unit jackpot | grep --max-count=1 'Watchdog timeout'

said "a board agent"
$jackpot pki issue board pit-2-agent --folder /root/jackpot-pki >/dev/null
install -m 644 /root/jackpot-pki/boards/holders/pit-2-agent.crt /etc/jackpot/board.crt
install -m 400 -o jackpot /root/jackpot-pki/boards/holders/pit-2-agent.key /etc/jackpot/secrets/board.key
sed -e 's/[a-z]*\.jackpot\.example/jackpot.example/' -e 's|^port = .*|port = "socket://127.0.0.1:4001"|' deploy/boards.toml \
  >/etc/jackpot/boards.toml
/opt/jackpot/bin/python $here/board.py >/tmp/board &
board=$!
systemctl enable --quiet --now jackpot-signs
until_true 30 shows ','

said "an upgrade, as in upgrade.md"
systemctl start jackpot-backup.service
rm -rf /opt/jackpot-next
python3 -m venv /opt/jackpot-next
/opt/jackpot-next/bin/pip install --quiet --no-index --find-links dist/wheels --require-hashes --requirement dist/requirements.txt
/opt/jackpot-next/bin/pip install --quiet --no-index --no-deps dist/jackpot-*.whl
as jackpot /opt/jackpot-next/bin/jackpot check --config $config >/dev/null
systemctl stop jackpot
until_true 30 shows '--------'
/opt/jackpot-next/bin/jackpot migrate --config /etc/jackpot/migrate.toml
{ echo 'SET ROLE jackpot_owner;'; cat deploy/postgresql/grants.sql; } | as postgres psql -X -q -v ON_ERROR_STOP=1 jackpot
ln -sfn /opt/jackpot-next /opt/jackpot
systemctl start jackpot
until_true 60 ready
until_true 30 shows ','
kill $table
wait $table
said "the board shows $(tail -n 1 /tmp/board), and showed dashes while there was no daemon"
systemctl stop jackpot-signs
until_true 10 shows '--------'
kill $board

said "the auditor, the backup and its rehearsal"
as jackpot $jackpot verify --config $config --heads /var/lib/jackpot/heads.jsonl --heads-key /etc/jackpot/heads.pub
systemctl start jackpot-backup.service
install -m 644 /var/lib/jackpot/heads.jsonl /tmp/heads.jsonl
as postgres /usr/lib/jackpot/rehearse.sh /tmp/heads.jsonl /etc/jackpot/heads.pub
systemctl stop jackpot
[ -z "$(systemctl --failed --plain --no-legend)" ]
if journalctl --no-pager --unit jackpot --unit jackpot-signs | grep Traceback; then exit 1; fi
