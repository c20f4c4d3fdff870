#!/usr/bin/env bash
# Installs the Debian packages that are missing, as root or with sudo, and says which.
#   system-packages.sh python   what the virtual environment needs: without it nothing works
#   system-packages.sh tests    what the tests use beside it: servers, a browser, networks and clocks of their own, and the
#                              programs that deploy/ is for
#   system-packages.sh cluster  what `make cluster` uses beside it: etcd, and a PostgreSQL that speaks TLS
set -euo pipefail

missing=()
case "${1:-}" in
  python)
    command -v python3 >/dev/null || { echo "setup: python3 is missing: apt-get install python3" >&2; exit 1; }
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
      echo "setup: $(python3 --version) is too old: jackpot needs Python 3.11, as in Debian 12, or newer" >&2
      exit 1
    }
    # Debian's python3 alone has no ensurepip, and venv fails half-way.
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    ;;
  tests)
    PATH=$PATH:/usr/sbin:/sbin  # where an ordinary user does not look
    for need in mosquitto chromium ip:iproute2 faketime logrotate shellcheck zstd systemd-analyze:systemd \
      promtool:prometheus amtool:prometheus-alertmanager prometheus-postgres-exporter pg_ctlcluster:postgresql \
      nginx:nginx-light; do
      command -v "${need%:*}" >/dev/null || missing+=("${need#*:}")
    done
    ;;
  cluster)
    command -v etcd >/dev/null || missing+=(etcd-server)
    [ -x /usr/lib/postgresql/15/bin/postgres ] || missing+=(postgresql-15)
    ;;
  *)
    echo "usage: $0 python|tests|cluster" >&2
    exit 2
    ;;
esac
[ ${#missing[@]} -gt 0 ] || exit 0

do_it=(apt-get install -y -qq --no-install-recommends "${missing[@]}")
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: missing Debian packages: ${missing[*]}; as root: ${do_it[*]}" >&2
    # Without them the other tests still run.
    [ "$1" = tests ] && exit 0 || exit 1
  fi
  as_root=(sudo)
fi
echo "setup: Debian packages, ${as_root[*]:-as root}: ${missing[*]}"
# The tests start servers themselves: none is to run only because it was installed.
policy=/usr/sbin/policy-rc.d
if [ "$1" != python ] && [ ! -e $policy ]; then
  trap '"${as_root[@]}" rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
  "${as_root[@]}" chmod 755 $policy
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${do_it[@]}" >/dev/null
