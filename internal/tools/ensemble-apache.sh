#!/usr/bin/env bash
# ensemble-apache.sh ARGS...: what make zk-linear does to our servers, done to three Apache ZooKeeper 3.9.5.
set -euo pipefail
cd "$(dirname "$0")/../.."
internal/tools/apache fetch zookeeper 3.9.5
libs=${APACHE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/apache-anchors}/zookeeper-3.9.5/libs
exec go run ./internal/tools/ensemble -patience 10m -command "java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp $libs/* org.apache.zookeeper.server.quorum.QuorumPeerMain {cfg}" "$@"
