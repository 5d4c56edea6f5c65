#!/usr/bin/env bash
# Compiles each CUDA source with nvcc for sm_80 and sm_90, *_sm90.cu for sm_90a alone, and prints registers, shared memory and spills of every
# kernel. Warnings, spills and stack frames are faults. Usage: CUDA_HOME=... compile.sh OUTPUT_FOLDER SOURCE.cu...
set -u
nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
[ -x "$nvcc" ] || { echo "cuda-check: no $nvcc: set CUDA_HOME to the toolkit" >&2; exit 1; }
out=$1
shift
mkdir -p "$out"
faults=0
printf '%-5s %9s %7s %6s %5s  %s\n' arch registers shared spills stack kernel
for source in "$@"; do
  case "$source" in *_sm90.cu) architectures=90a ;; *) architectures="80 90" ;; esac
  for arch in $architectures; do
    log=$out/$(basename "$source" .cu).sm_$arch.log
    "$nvcc" -std=c++20 -gencode "arch=compute_$arch,code=sm_$arch" -O3 -lineinfo -Isrc -I. -Xptxas -v,-warn-spills,-warn-lmem-usage --Werror all-warnings \
      -Xcompiler -Wall,-Wextra -c -o "${log%.log}.o" "$source" >"$log" 2>&1 ||
      { echo "cuda-check: $source does not compile for sm_$arch without warnings:" >&2; grep -v '^ptxas info' "$log" | tail -n 20 >&2; faults=$((faults + 1)); continue; }
    table=$(awk -v arch="sm_$arch" '
      /Compiling entry function/ { split($0, part, "\x27"); name = part[2] }
      /bytes stack frame/ { stack = $1; spills = $5 + $9 }
      /Used [0-9]+ registers/ {
        registers = shared = 0
        for (i = 1; i <= NF; ++i) { if ($i ~ /^registers/) registers = $(i - 1); if ($i == "smem,") shared = $(i - 2); if ($i == "smem") shared = $(i - 2) }
        printf "%-5s %9d %7d %6d %5d  %s\n", arch, registers, shared, spills, stack, name }' "$log" | { c++filt 2>/dev/null || cat; })
    echo "$table"
    bad=$(awk '$4 + $5 > 0' <<<"$table" | wc -l)
    if grep "are serialized" "$log" >&2; then bad=$((bad + 1)); fi  # wgmma, by the compiler's own choice
    [ -n "$table" ] || { echo "cuda-check: no kernel in $source" >&2; bad=1; }
    faults=$((faults + bad))
  done
done
[ "$faults" = 0 ] || { echo "cuda-check: $faults faults (warnings, spills or stack)" >&2; exit 1; }
