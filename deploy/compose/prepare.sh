#!/bin/bash
# Makes ./site for compose.yaml: certificates, secrets and configurations. What is there already stays.
#   prepare.sh SITE_NAME HOST     HOST: the name by which tables and boards reach the broker
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
site=${1:?name the site} host=${2:?name the host}
read -ra jackpot <<<"${JACKPOT:-docker run --rm --user $(id -u):$(id -g) --volume $PWD:$PWD --workdir $PWD jackpot}"
[ ! -e site ] || { echo "prepare: $PWD/site is there already" >&2; exit 1; }
umask 077
# What each container is given, and nothing else: the daemon not the schema's password, the database no password at all.
mkdir -p site/passwords site/db site/schema/secrets site/jackpot/secrets site/mosquitto site/broker-data site/daemon-data
"${jackpot[@]}" pki init --site "$site" --folder site/pki
"${jackpot[@]}" pki issue server broker --also "$host" --folder site/pki
"${jackpot[@]}" pki issue server db --folder site/pki
"${jackpot[@]}" pki issue controller control --folder site/pki
for kind in tables boards controllers; do
  cp site/pki/$kind/authority.crt site/mosquitto/$kind.crt
  cp site/pki/$kind/revoked.crl site/mosquitto/$kind.crl
  cp ../mosquitto/$kind.acl site/mosquitto/  # that of tables: make it anew for links of your own (jackpot pki acl)
done
cp site/pki/servers/holders/broker.crt site/pki/servers/holders/broker.key site/mosquitto/
cp site/pki/servers/holders/db.crt site/db/server.crt
cp site/pki/servers/holders/db.key site/db/server.key
for part in jackpot schema; do cp site/pki/servers/authority.crt site/$part/servers.crt; done
cp site/pki/controllers/holders/control.crt site/jackpot/controller.crt
cp site/pki/controllers/holders/control.key site/jackpot/secrets/controller.key
roles=(postgres migrate settle console finance audit metrics replica)
files=("${roles[@]/#/site/passwords/}")
for file in "${files[@]}"; do openssl rand -base64 24 >"$file.password"; done
for role in "${roles[@]}"; do read -r kept && echo "$kept" >"site/db/$role.scram"; done \
  < <("${jackpot[@]}" pki scram "${files[@]/%/.password}")
cp site/passwords/{settle,console}.password site/jackpot/secrets/
cp site/passwords/migrate.password site/schema/secrets/
echo "db:5432:jackpot:jackpot_migrate:$(cat site/passwords/migrate.password)" >site/schema/secrets/migrate.pgpass  # psql's form
"${jackpot[@]}" heads new-key --key site/jackpot/secrets/heads.key --public site/heads.pub
"${jackpot[@]}" user new-key site/jackpot/secrets/people.key
"${jackpot[@]}" pki event-key site/jackpot/secrets/UTH-01.event-key
sed 's/\(db\|broker\)\.jackpot\.example/\1/' ../jackpot.toml >site/jackpot/jackpot.toml
sed 's/db\.jackpot\.example/db/' ../migrate.toml >site/schema/migrate.toml
chmod 644 site/db/server.crt  # the database's account reads it
printf 'JACKPOT_UID=%s\nJACKPOT_GID=%s\n' "$(id -u)" "$(id -g)" >.env
echo "prepare: now edit site/jackpot/jackpot.toml, carry site/pki and site/passwords away, and: docker compose up"
