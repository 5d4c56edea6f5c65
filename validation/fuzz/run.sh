#!/usr/bin/env bash
# run.sh HARNESS SECONDS: runs the harness on every format for so many seconds each. Inputs that taught it something stay in
# build/fuzz/corpus/FORMAT, an input that crashes is named and kept in build/fuzz/found. Status 1 when there was one.
set -u
harness=$1 seconds=$2 faults=0
mkdir -p build/fuzz/found
for format in $(env -u FUZZ_FORMAT "$harness"); do
  corpus=build/fuzz/corpus/$format
  mkdir -p "$corpus"
  if FUZZ_FORMAT=$format FUZZ_SEEDS=$corpus "$harness" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="build/fuzz/found/$format-" "$corpus" >"build/fuzz/$format.log" 2>&1; then
    printf '%-18s %s\n' "$format" "$(grep -o 'Done.*' "build/fuzz/$format.log")"
  else
    faults=$((faults + 1))
    printf '%-18s FOUND: %s\n' "$format" "$(grep -m1 -E 'ERROR|Test unit written|SUMMARY' "build/fuzz/$format.log"); see build/fuzz/$format.log"
  fi
done
[ "$faults" = 0 ]
