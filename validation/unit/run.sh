#!/usr/bin/env bash
# Runs test programs, NAME.npN on N ranks, and counts their tests. The last line is "N passed, N failed, N skipped"; a program that
# ends badly without naming a failed test counts as one failed test. Usage: run.sh PROGRAM...
set -u
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
export LSAN_OPTIONS=${LSAN_OPTIONS:-print_suppressions=0:suppressions=$(cd "$(dirname "$0")" && pwd)/leaks.supp}
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
count() { sed -n "s/^\[  $1 *\] \([0-9]*\) test.*/\1/p" "$log" | tail -1; }
for program in "$@"; do
  ranks=${program##*.np}
  launch=()
  [ "$ranks" = 1 ] || launch=("${MPIEXEC:-mpiexec}" -n "$ranks")
  name=${program#build/}
  name=${name#release/}
  begin=$SECONDS
  timeout "${TEST_SECONDS:-600}" "${launch[@]}" "$program" >"$log" 2>&1 </dev/null
  status=$?
  p=$(count PASSED) f=$(count FAILED) s=$(count SKIPPED)
  p=${p:-0} f=${f:-0} s=${s:-0}
  [ $((p + f + s)) -gt 0 ] && { [ "$status" = 0 ] || [ "$f" -gt 0 ]; } || f=$((f + 1))
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  printf '%-36s %3d passed, %d failed, %d skipped  %3d s\n' "${name/test\//}" "$p" "$f" "$s" $((SECONDS - begin))
  [ "$f" = 0 ] || { echo "--- $program, exit status $status:"; grep -v '^\[ RUN \|^\[       OK' "$log" | tail -n 60; }
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
