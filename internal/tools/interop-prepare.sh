#!/usr/bin/env bash
# interop-prepare.sh DIR: puts the client libraries that are not Go into DIR, by npm and pip. Done once.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"; cd "$1"
cp "$here"/internal/interop/testdata/kafkajs.mjs "$here"/internal/interop/testdata/kafka_python.py .
if command -v npm >/dev/null && [ ! -d node_modules/kafkajs ]; then
	npm install --silent --no-audit --no-fund --prefix . kafkajs@2.2.4
fi
if command -v python3 >/dev/null && [ ! -e venv/.done ]; then
	python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check kafka-python==2.2.15 && touch venv/.done
fi
for need in kcat java mvn node python3; do
	command -v "$need" >/dev/null || { echo "interop: $need is not on this machine" >&2; exit 1; }
done
