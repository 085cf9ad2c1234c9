#!/bin/sh
# Make sure there is a Chromium for the browser tests. Does nothing when the tests find one
# (tests/browser.py says where they look).
set -eu
if "$BIN/python" -m tests.browser >/dev/null; then exit 0; fi
echo "No Chromium found: installing one for the browser tests."
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
else
  "$BIN/python" -m playwright install chromium
fi
