#!/bin/sh
# Runs S1 on a deployed stack, by the command line alone, and says loudly when it
# does not come to its end. It works on any AWS: an emulator's where
# AWS_ENDPOINT_URL is set, else the account that is configured.
#
#   localstack/smoke.sh [STACK]         (default Outerloop-acme)
#
# BIN is the folder of outerloop and outerloop-aws (default build); AS_OF the
# run's date (default today). A second smoke of one day is a duplicate of the
# first, and mails nobody twice.
set -eu

stack="${1:-Outerloop-acme}"
cd "$(dirname "$0")/.."
bin="${BIN:-build}"
config="$(mktemp -d)/aws.json"
trap 'rm -rf "$(dirname "$config")"' EXIT
as_of="${AS_OF:-$(date +%F)}"

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'smoke: %s\n' "$*" >&2; exit 1; }
far() { "$bin/outerloop" "$@" --target aws --config "$config"; }

say "connect with $stack at ${AWS_ENDPOINT_URL:-AWS}"
"$bin/outerloop-aws" connect "$stack" --config "$config" ${AWS_ENDPOINT_URL:+--endpoint "$AWS_ENDPOINT_URL"}

say "S1 for $as_of"
far run crm-followup --input exports/crm.csv --as-of "$as_of" >"$config.first" || [ $? -eq 3 ] || { cat "$config.first"; fail "the run did not start, or did not go on"; }
cat "$config.first"
run="$(sed -n 's/.*\(crm-followup-[0-9a-f]\{32\}\).*/\1/p' "$config.first" | head -n 1)"
[ -n "$run" ] || fail "the command names no run"

say "$run: approve what it asks"
tries=0
while :; do
	status="$(far show "$run" -o json | sed -n 's/^  "status": "\(.*\)",*$/\1/p' | head -n 1)"
	case "$status" in
	completed) break ;;
	blocked | failed | cancelled) far show "$run" || true; fail "$run is $status" ;;
	esac
	for id in $(far approvals -o json | awk -F'"' -v run="$run" '/^    "id":/ { id = $4 } /^    "run":/ && $4 == run { print id }'); do
		far approve "$id" --by lead@acme.example --reason "smoke test" >/dev/null || [ $? -eq 3 ] || fail "$id could not be approved"
		printf 'approved %s\n' "$id"
	done
	tries=$((tries + 1))
	[ "$tries" -lt "${TRIES:-200}" ] || fail "$run is $status and does not end"
	sleep 3
done

say "the same again is a duplicate"
far run crm-followup --input exports/crm.csv --as-of "$as_of" | tee "$config.again"
grep -q duplicate "$config.again" || fail "a second start of $as_of was no duplicate"

say "what was done"
far show "$run"
printf '\nsmoke: %s is completed\n' "$run"
