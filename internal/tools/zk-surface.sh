#!/usr/bin/env bash
# zk-surface.sh [-record]: what four-letter words, the admin server and the page of metrics show, on three Apache ZooKeeper 3.9.5 and on three of ours, and on
# one of each alone. Names are compared, not values; a name that only one side has must stand in docs/COORDINATION.md with its reason.
set -euo pipefail
cd "$(dirname "$0")/../.."
internal/tools/apache fetch zookeeper 3.9.5
home=${APACHE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/apache-anchors}
more=$home/zookeeper-3.9.5-pages
# The server's own artifact names these as optional: the admin server's HTTP, and the provider for Prometheus, of which 3.9.5 is not everywhere.
if [ ! -e "$more/.done" ]; then
	mkdir -p "$more"
	dep() { echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version></dependency>"; }
	echo "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion><groupId>anchor</groupId><artifactId>pages</artifactId><version>1</version><dependencies>$(dep org.apache.zookeeper zookeeper-prometheus-metrics 3.9.4)$(dep org.eclipse.jetty jetty-servlet 9.4.58.v20250814)$(dep com.fasterxml.jackson.core jackson-databind 2.19.2)</dependencies></project>" >"$more/pom.xml"
	mvn -q -f "$more/pom.xml" dependency:copy-dependencies -DoutputDirectory="$more/libs"
	rm -f "$more"/libs/zookeeper-3*.jar "$more"/libs/zookeeper-jute-3*.jar # those of the server come first
	touch "$more/.done"
fi
exec go run ./internal/tools/zksurface -classpath "$home/zookeeper-3.9.5/libs/*:$more/libs/*" "$@"
