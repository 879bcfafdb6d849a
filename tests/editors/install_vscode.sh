#!/usr/bin/env bash
# Installs what the VS Code tests drive: code-server (the real VS Code workbench and extension host, from npm) and
# Debian's Chromium. Usage: tests/editors/install_vscode.sh DIRECTORY
# A directory that already holds this version is left as it is. Needs node 20, npm, a C++ compiler, and apt for Chromium.
set -euo pipefail
directory=${1:?usage: install_vscode.sh DIRECTORY}
version=4.100.3 # VS Code 1.100.3, the last line that runs on node 20
here=$(cd "$(dirname "$0")" && pwd)

chromium=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$chromium" ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi

# Two test workers may ask at once.
mkdir -p "$directory"
exec 9>"$directory/.lock"
flock 9

stamp="$directory/.installed-$version"
if [ ! -f "$stamp" ]; then
  export npm_config_yes=true npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false npm_config_loglevel=error
  # Headers for argon2's build come with Debian's or NodeSource's node; node-gyp would download them otherwise.
  if [ -d /usr/include/node ]; then export npm_config_nodedir=/usr; fi
  mkdir -p "$directory"
  cd "$directory"
  [ -f package.json ] || printf '{"private": true}\n' >package.json
  # Without the install scripts: they fetch prebuilt binaries from hosts a build machine may not reach. Only argon2,
  # which code-server loads at start, and spdlog are built; node-pty and native-watchdog are done without (no terminal).
  npm install --ignore-scripts "code-server@$version"
  npm rebuild argon2
  cd node_modules/code-server/lib/vscode
  npm install --omit=dev --ignore-scripts
  npm rebuild @vscode/spdlog # without it no output channel has a log file
  ln -sfn node_modules node_modules.asar
  (cd extensions && npm install --omit=dev --ignore-scripts)
  touch "$stamp"
fi

# File search (`@file` completion) runs ripgrep; the wheel that agent_ls depends on brings one.
ripgrep=$(command -v rg || true)
[ -n "$ripgrep" ] || ripgrep="$here/../../.venv/bin/rg"
if [ -x "$ripgrep" ]; then
  mkdir -p "$directory/node_modules/code-server/lib/vscode/node_modules/@vscode/ripgrep/bin"
  ln -sfn "$(readlink -f "$ripgrep")" "$directory/node_modules/code-server/lib/vscode/node_modules/@vscode/ripgrep/bin/rg"
fi
echo "$directory/node_modules/code-server/out/node/entry.js"
