#!/bin/sh
# Starts or stops MiniStack, an AWS emulator in one process, on loopback only.
#
#   localstack/ministack.sh start   install the pinned version if need be, start, wait until it answers
#   localstack/ministack.sh stop    stop what start started
#   localstack/ministack.sh env     print what a test needs in its environment: eval "$(… env)"
#
# MINISTACK_PORT chooses the port (4566). Everything lives under build/ministack.
set -eu

version=1.4.21
port="${MINISTACK_PORT:-4566}"
root="$(cd "$(dirname "$0")/.." && pwd)"
home="$root/build/ministack"
pidfile="$home/$port.pid"
url="http://127.0.0.1:$port"

alive() { [ -f "$pidfile" ] && kill -0 "$(cat "$pidfile")" 2>/dev/null; }

answers() {
	"$home/venv/bin/python" -c "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2)" \
		"$url/_ministack/health" >/dev/null 2>&1
}

install() {
	[ -f "$home/venv/$version" ] && return
	command -v python3 >/dev/null || { echo "ministack: python3 is missing" >&2; exit 1; }
	mkdir -p "$home"
	python3 -m venv "$home/venv"
	"$home/venv/bin/pip" install --quiet --disable-pip-version-check "ministack==$version"
	touch "$home/venv/$version"
}

start() {
	alive && return
	install
	if answers; then
		echo "ministack: something else answers at $url; choose another MINISTACK_PORT" >&2
		exit 1
	fi
	# IOT_MTLS_ENABLED=0: its MQTT listener would bind to every interface. TMPDIR: it
	# unpacks functions' code there by hash, and two servers would do so over each other.
	mkdir -p "$home/$port.tmp"
	BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" LAMBDA_EXECUTOR=local TMPDIR="$home/$port.tmp" IOT_MTLS_ENABLED=0 AWS_ENDPOINT_URL="$url" \
		nohup "$home/venv/bin/ministack" >"$home/$port.log" 2>&1 &
	echo $! >"$pidfile"
	tries=0
	until answers; do
		tries=$((tries + 1))
		if [ "$tries" -gt 60 ] || ! alive; then
			tail -n 20 "$home/$port.log" >&2
			echo "ministack: did not start, see $home/$port.log" >&2
			exit 1
		fi
		sleep 0.5
	done
}

stop() {
	if alive; then
		kill "$(cat "$pidfile")"
	fi
	rm -rf "$pidfile" "$home/$port.tmp"
}

case "${1:-}" in
start) start ;;
stop) stop ;;
env)
	echo "export OUTERLOOP_DYNAMODB_ENDPOINT=$url OUTERLOOP_S3_ENDPOINT=$url OUTERLOOP_DYNAMODB_EMULATED=1"
	;;
*)
	echo "usage: $0 start|stop|env" >&2
	exit 2
	;;
esac
