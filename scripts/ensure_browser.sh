#!/bin/sh
# Make sure there is a Chromium for the browser tests. Does nothing when one is found.
set -eu
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
echo "No Chromium found: installing one for the browser tests."
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
else
  "$BIN/python" -m playwright install chromium
fi
