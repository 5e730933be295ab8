#!/usr/bin/env bash
# with-zookeeper.sh COMMAND...: runs a command beside a fresh Apache ZooKeeper 3.9.5, which it finds in PELTON_TEST_ZOOKEEPER.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
stop() { internal/tools/apache stop "$dir/zk" 2>/dev/null || true; rm -rf "$dir"; }
trap stop EXIT
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
# The password of the superuser in the conformance scripts, as ZooKeeper wants its digest.
export JAVA_TOOL_OPTIONS='-Dzookeeper.DigestAuthenticationProvider.superDigest=super:lK75jTNcA+U9vtVEw5vB51mj/w4='
internal/tools/apache start zookeeper 3.9.5 "$port" "$dir/zk" extendedTypesEnabled=true enforceQuota=true
unset JAVA_TOOL_OPTIONS
PELTON_TEST_ZOOKEEPER=127.0.0.1:$port "$@"
