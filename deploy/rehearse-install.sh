#!/bin/bash
# Rehearses first-install.md on a bare Debian in a directory of its own: packages, program, certificates, secrets, database,
# broker, daemon; then upgrade.md while a table plays; the auditor proves it all, a backup is made and restored. There is no systemd in
# there, so the units are installed but the programs are started by hand. Needs root, debootstrap and a release in dist/
# made with --wheels.
#   deploy/rehearse-install.sh ROOT [MIRROR]     ROOT: a directory that is not there yet, or one that debootstrap made
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
root=$(readlink -f "${1:?name a directory}")
mirror=${2:-http://deb.debian.org/debian}
started=$(date +%s)
said() { echo "rehearse-install: $(($(date +%s) - started)) s: $*"; }

if [ ! -e "$root/etc/debian_version" ]; then
  said "a bare Debian 12 in $root"
  debootstrap --variant=minbase bookworm "$root" "$mirror" >/dev/null
fi
started=$(date +%s)  # the runbook begins on a machine that has its Debian
rm -rf "$root/root/release"
mkdir -p "$root/root/release"
cp -r "$here" "$here/../dist" "$root/root/release/"
cp /etc/resolv.conf "$root/etc/resolv.conf"
printf '127.0.0.1 localhost jackpot.example %s\n' "$(hostname -s)" >"$root/etc/hosts"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"  # nothing is started by being installed
chmod 755 "$root/usr/sbin/policy-rc.d"

# The packages come over the network; everything after them happens where there is none but the loopback.
inside() {
  # shellcheck disable=SC2016 # $0 is for the shell inside
  unshare --mount --pid --fork --kill-child "$@" -- bash -euc '
    mount --make-rprivate /
    mount --bind /dev "$0/dev"; mount -t proc proc "$0/proc"; mount -t tmpfs tmpfs "$0/run"
    mkdir -p "$0/run/lock" "$0/dev/shm"; mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
    ! ip link set lo up 2>/dev/null || true
    exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 bash -euo pipefail' "$root"
}

said "Debian packages"
inside <<'INSIDE'
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-venv postgresql mosquitto logrotate openssl >/dev/null 2>&1
INSIDE

said "the install"
inside --net <<'INSIDE'
cd /root/release
deploy/install.sh --site Rehearsal --host jackpot.example
echo "rehearse-install: once more, which changes nothing"
find /etc /root/jackpot-pki -type f -exec sha256sum {} + | sort >/tmp/before
deploy/install.sh --site Rehearsal --host jackpot.example >/dev/null
find /etc /root/jackpot-pki -type f -exec sha256sum {} + | sort | diff /tmp/before -
jackpot=/opt/jackpot/bin/jackpot
as() { local who=$1; shift; (cd / && setpriv --reuid="$who" --regid="$who" --init-groups --reset-env "$@"); }

# No board is plugged in here.
sed -i '/^# -- boards that/,$d' /etc/jackpot/jackpot.toml
start_daemon() {
  (cd / && exec setpriv --reuid=jackpot --regid=jackpot --init-groups --reset-env "$jackpot" serve --config /etc/jackpot/jackpot.toml) 2>>/var/log/jackpot.log &
  daemon=$!
  for _ in $(seq 300); do
    python3 -c 'import urllib.request as r; r.urlopen("http://127.0.0.1:8080/readyz")' 2>/dev/null && return
    sleep 0.1
  done
  tail -n 20 /var/log/jackpot.log; exit 1
}
stop_daemon() { kill -TERM "$daemon"; wait "$daemon"; }
start_daemon
echo "correct horse battery" | as jackpot "$jackpot" user add emil --role engineer --config /etc/jackpot/jackpot.toml
as jackpot "$jackpot" check --config /etc/jackpot/jackpot.toml

echo "rehearse-install: an upgrade while a table plays"
$jackpot pki issue table UTH-01 --folder /root/jackpot-pki >/dev/null
/opt/jackpot/bin/python - <<'PYTHON' &
import asyncio
from pathlib import Path

from jackpot.floor.table import TableController
from jackpot.wire.broker import Broker

holder = Path("/root/jackpot-pki/tables/holders")
broker = Broker.from_url(
    "mqtts://jackpot.example:8883",
    ca="/etc/jackpot/servers.crt",
    cert=str(holder / "UTH-01.crt"),
    key=str(holder / "UTH-01.key"),
)
key = bytes.fromhex(Path("/etc/jackpot/secrets/UTH-01.event-key").read_text())


async def play() -> None:
    async with asyncio.timeout(300), TableController(broker, "megalink", "UTH-01", key=key) as table:
        rounds = 0
        while not Path("/tmp/upgraded").exists():
            rounds += 1
            for type_, fields in (
                ("round.opened", {}),
                ("wager.placed", {"position": 1, "multiplier": 5}),
                ("round.closed", {}),
                ("hand.entered", {"position": 1, "cards": ["Ah", "Kh"], "community": ["Qh", "Jh", "Th"]}),
                ("round.settled", {}),
            ):
                reply = await table.say(type_, str(rounds), **fields)
                assert reply["status"] == "accepted", reply
                assert reply["seq"] <= 5 * rounds, reply
            await asyncio.sleep(0.1)
        print(rounds, "rounds, every event accepted once; the last paid", reply["result"]["awards"][0]["amount_cents"])


asyncio.run(play())
PYTHON
table=$!
python3 -m venv /opt/jackpot-next
/opt/jackpot-next/bin/pip install --quiet --no-index --find-links dist/wheels --require-hashes --requirement dist/requirements.txt
/opt/jackpot-next/bin/pip install --quiet --no-index --no-deps dist/jackpot-*.whl
as jackpot /opt/jackpot-next/bin/jackpot check --config /etc/jackpot/jackpot.toml >/dev/null
stop_daemon
/opt/jackpot-next/bin/jackpot migrate --config /etc/jackpot/migrate.toml
{ echo 'SET ROLE jackpot_owner;'; cat deploy/postgresql/grants.sql; } | as postgres psql -X -q -v ON_ERROR_STOP=1 jackpot
ln -sfn /opt/jackpot-next /opt/jackpot
start_daemon
touch /tmp/upgraded
wait "$table"

echo "rehearse-install: the auditor, the backup and its rehearsal"
as jackpot "$jackpot" verify --config /etc/jackpot/jackpot.toml --heads /var/lib/jackpot/heads.jsonl --heads-key /etc/jackpot/heads.pub
as postgres /usr/lib/jackpot/backup.sh
install -m 644 /var/lib/jackpot/heads.jsonl /tmp/heads.jsonl
as postgres /usr/lib/jackpot/rehearse.sh /tmp/heads.jsonl /etc/jackpot/heads.pub
stop_daemon
INSIDE
said "done"
