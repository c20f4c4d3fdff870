#!/bin/bash
# Rehearses the install on a bare Debian, booted with its own systemd in a directory. The runbooks are typed as they stand:
# first-install.md, upgrade.md while a table plays, what puts back the files of broker, daemon and database, the
# restore, newest and to a moment; with the units at work (a daemon killed, one that hangs, a log's reader that hangs, a
# board agent, an alert that reaches somebody). Needs root, debootstrap, systemd-nspawn (Debian: systemd-container) and a
# release in dist/ made with --wheels.
#   deploy/rehearse-install.sh ROOT [MIRROR]     ROOT: a directory that is not there yet, or one from before
set -euo pipefail
deploy=$(dirname "$(readlink -f "$0")")
root=$(readlink -f "${1:?name a directory}")
mirror=${2:-http://deb.debian.org/debian}
started=$(date +%s)
said() { echo "rehearse-install: $(($(date +%s) - started)) s: $*"; }

if [ ! -e "$root/etc/debian_version" ]; then
  said "a bare Debian 12 in $root"
  debootstrap --variant=minbase --include=systemd-sysv,dbus bookworm "$root" "$mirror" >/dev/null
fi
release=$deploy/../dist
[ -d "$release/wheels" ] || { echo "rehearse-install: first: deploy/supply/release.sh --wheels" >&2; exit 2; }
rm -rf "$root/root/release" "$root/root/next"
cp -r "$release" "$root/root/release"
printf '127.0.0.1 localhost jackpot.example %s\n' "$(hostname -s)" >"$root/etc/hosts"

started=$(date +%s)  # the runbook begins on a machine that has its Debian
said "Debian packages: the last that comes over the network"
cp /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"  # nothing is started by being installed
chmod 755 "$root/usr/sbin/policy-rc.d"
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 bash -euc '
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends python3-venv postgresql mosquitto logrotate openssl zstd \
    prometheus prometheus-alertmanager prometheus-node-exporter prometheus-postgres-exporter >/dev/null 2>&1'
rm "$root/usr/sbin/policy-rc.d"

said "the machine boots"
systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit --private-network --resolv-conf=off \
  --console=pipe </dev/null >"$root/root/boot.log" 2>&1 &
machine=$!
trap 'kill "$machine" 2>/dev/null; wait "$machine" || true' EXIT
for _ in $(seq 100); do
  ! init=$(pgrep --exact --parent "$machine" systemd) || break  # not what nspawn forks on the way
  sleep 0.1
done
: "${init:?the machine did not boot, see $root/root/boot.log}"
inside() {
  nsenter --target "$init" --mount --pid --net --uts --ipc --cgroup \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}
for _ in $(seq 100); do
  ! inside test -S /run/systemd/private 2>/dev/null || break
  sleep 0.1
done
state=$(inside systemctl is-system-running --wait || true)
said "it is $state"

inside /root/release/deploy/rehearsal/inside.sh
said "done"
