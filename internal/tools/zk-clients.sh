#!/usr/bin/env bash
# zk-clients.sh: other people's clients against `pelton zk server`: kazoo, Curator, the C client, with SASL and TLS from Java, Apache's own
# zkCli against our server beside Apache's, and our shell against both. Needs Java, Maven, gcc, python3-kazoo and libzookeeper-mt-dev.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=internal/tools/zkclients build=bin/zkclients
dir=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
	internal/tools/apache stop "$dir/zk" 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT
fail() { echo "zk-clients: $*" >&2; [ ! -e "$dir/log" ] || tail -20 "$dir/log" >&2; exit 1; }

mkdir -p "$build/libs"
[ -e "$build/libs/.done" ] || { mvn -q -f $here/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/$build/libs"; touch "$build/libs/.done"; }
javac -cp "$build/libs/*" -d "$build" $here/Recipes.java
"${CC:-cc}" -Wall -DTHREADED -o "$build/recipes" $here/recipes.c -lzookeeper_mt

# A store with one certificate that is server, client and authority.
store=$dir/store.jks pass=changeit
keytool -genkeypair -alias own -keyalg RSA -dname CN=localhost,OU=t,O=pelton,C=DE -ext san=dns:localhost,ip:127.0.0.1 -validity 2 -storetype JKS -keystore "$store" -storepass $pass -keypass $pass 2>/dev/null
keytool -exportcert -alias own -keystore "$store" -storepass $pass -file "$dir/own.der" 2>/dev/null
keytool -importcert -noprompt -alias trusted -file "$dir/own.der" -storetype JKS -keystore "$dir/trust.jks" -storepass $pass 2>/dev/null
cat >"$dir/jaas.conf" <<'JAAS'
Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_kafka="kafka-secret"; };
Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="kafka" password="kafka-secret"; };
JAAS
cat >"$dir/zoo.cfg" <<CFG
dataDir=$dir/data
clientPort=0
clientPortAddress=127.0.0.1
secureClientPort=0
secureClientPortAddress=127.0.0.1
maxClientCnxns=0
extendedTypesEnabled=true
authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider
ssl.keyStore.location=$store
ssl.keyStore.password=$pass
ssl.trustStore.location=$dir/trust.jks
ssl.trustStore.password=$pass
CFG
SERVER_JVMFLAGS="-Djava.security.auth.login.config=$dir/jaas.conf" bin/pelton zk server "$dir/zoo.cfg" >"$dir/ready" 2>"$dir/log" &
server=$!
for _ in $(seq 100); do
	grep -q '"event":"ready"' "$dir/ready" && break
	kill -0 "$server" 2>/dev/null || fail "the server did not start"
	sleep 0.1
done
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$dir/ready"; }
ours=$(field zookeeper) secure=$(field secure)
[ -n "$ours" ] && [ -n "$secure" ] || fail "no ready line"
cli() { # where, then Java options; the commands come by standard input
	local where=$1
	shift
	timeout 120 java -Dorg.slf4j.simpleLogger.defaultLogLevel=off "$@" -cp "$build/libs/*" org.apache.zookeeper.ZooKeeperMain -server "$where" 2>&1
}

timeout 120 "${PYTHON:-/usr/bin/python3}" $here/recipes.py "$ours" || fail kazoo
timeout 60 "$build/recipes" "$ours" || fail "C client"
timeout 180 java -Dorg.slf4j.simpleLogger.defaultLogLevel=off -cp "$build:$build/libs/*" Recipes "$ours" || fail Curator

printf 'create /sasl x auth::cdrwa\ngetAcl /sasl\ndelete /sasl\n' | cli "$ours" -Djava.security.auth.login.config="$dir/jaas.conf" -Dzookeeper.fips-mode=false | grep -q "'sasl,'kafka" || fail "SASL from Java"
printf 'whoami\n' | cli "$ours" -Djava.security.auth.login.config=<(sed s/kafka-secret\"/wrong\"/ "$dir/jaas.conf") -Dzookeeper.fips-mode=false | grep -q "kafka" && fail "SASL with a wrong password is taken"
tls="-Dzookeeper.client.secure=true -Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty -Dzookeeper.ssl.keyStore.location=$store -Dzookeeper.ssl.keyStore.password=$pass -Dzookeeper.ssl.trustStore.location=$dir/trust.jks -Dzookeeper.ssl.trustStore.password=$pass"
# shellcheck disable=SC2086
printf 'whoami\n' | cli "localhost:${secure##*:}" $tls | grep -q 'x509: CN=localhost,OU=t,O=pelton,C=DE' || fail "TLS from Java"
echo "zkCli: SASL, TLS and names of certificates"

port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
internal/tools/apache start zookeeper 3.9.5 "$port" "$dir/zk" extendedTypesEnabled=true
theirs=127.0.0.1:$port
mask() { sed -E 's/^(c|m|p)Zxid = .*/\1Zxid = Z/; s/^(c|m)time = .*/\1time = T/; s/ephemeralOwner = 0x[1-9a-f].*/ephemeralOwner = S/; s/^\[zk: [^]]*\] //; s/127\.0\.0\.1:[0-9]+|localhost:[0-9]+/SERVER/g; /^(Connecting|Welcome|JLine|WATCHER|WatchedEvent|$)/d'; }
for where in "$ours" "$theirs"; do
	cli "$where" <$here/cli.txt | mask >"$dir/cli-${where##*:}"
	bin/pelton zk shell "$where" <$here/cli.txt 2>&1 | mask >"$dir/shell-${where##*:}"
done
[ "$(wc -l <"$dir/cli-$port")" -gt 60 ] || { cat "$dir/cli-$port" >&2; fail "zkCli printed too little"; }
diff "$dir/cli-${ours##*:}" "$dir/cli-$port" || fail "Apache's zkCli sees a difference between our server and Apache's"
diff "$dir/shell-${ours##*:}" "$dir/shell-$port" || fail "our shell sees a difference between our server and Apache's"
echo "zkCli and our shell: $(wc -l <$here/cli.txt) commands, the same answers from both servers"
[ -z "${KEEP-}" ] || cp "$dir"/cli-* "$dir"/shell-* "$KEEP"
