#!/usr/bin/env bash
# Compiles each CUDA source by nvcc for sm_80 and sm_90 (*_sm90.cu: for sm_90a alone) and prints what every kernel takes of an SM.
# Faults: warnings, spills, stack frames, tensor-core kernels without their instructions. Last line: "cuda-check: N kernels, N faults".
#   shared, dynamic  bytes a block; dynamic memory is its launcher's choice: known for the kernels of `must` below, ? otherwise
#   threads          a block, from __launch_bounds__; - without
#   blocks           that an SM holds at once, by registers (65,536, in units of 256 a warp), threads (2,048), blocks (32) and shared
#                    memory (164 KiB on sm_80, 228 KiB on sm_90, 1 KiB of it reserved a block); <= where dynamic memory is not known
# Usage: CUDA_HOME=... compile.sh OUTPUT_FOLDER SOURCE.cu...
set -u
export nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
[ -x "$nvcc" ] || { echo "cuda-check: no $nvcc: set CUDA_HOME to the toolkit" >&2; exit 1; }
here=$(dirname "$0")
export out=$1
shift
mkdir -p "$out"

# source, kernels, dynamic bytes, instructions that every one of them has: tensor cores, matrix loads, asynchronous copies
must="gemm_tensor.cu        product   65536 HMMA LDSM LDGSTS
      attention.cu          attend    ?     HMMA LDSM LDGSTS
      attention_backward.cu gradients ?     HMMA LDSM LDGSTS
      pipeline_sm90.cu      pipelined_product ? HGMMA UTMALDG UTMASTG"

architectures() { case "$1" in *_sm90.cu) echo 90a ;; *) echo 80 90 ;; esac; }
compile() {  # SOURCE ARCH: the log, object, PTX and cubin
  local to
  to=$out/$(basename "$1" .cu).$2
  rm -rf "$to" && mkdir -p "$to"
  "$nvcc" -std=c++20 -gencode "arch=compute_$2,code=sm_$2" -O3 -lineinfo -Isrc -I. -Xptxas -v,-warn-spills,-warn-lmem-usage \
    --Werror all-warnings -Xcompiler -Wall,-Wextra --keep --keep-dir "$to" -c -o "$to/object.o" "$1" >"$to/log" 2>&1 || touch "$to/failed"
}
export -f compile

disassembler() {  # prints the command; the toolkit's smallest installations lack it, PyPI has it
  local tool
  for tool in "$(dirname "$nvcc")/nvdisasm" "$(command -v nvdisasm)" build/nvdisasm/nvidia/*/bin/nvdisasm; do
    [ ! -f "$tool" ] || { chmod +x "$tool" 2>/dev/null; echo "$tool"; return; }
  done
  echo "cuda-check: the toolkit has no nvdisasm: fetching it from PyPI into build/nvdisasm" >&2
  python3 -m pip install -q --target build/nvdisasm nvidia-cuda-nvdisasm >/dev/null 2>&1 || return 1
  chmod +x build/nvdisasm/nvidia/*/bin/nvdisasm && ls build/nvdisasm/nvidia/*/bin/nvdisasm
}

fault() { echo "cuda-check: $*" >&2; faults=$((faults + 1)); }
instructions() {  # SOURCE CUBIN: of which kernels the table asks for what they do not have
  "$disassemble" -c "$2" | awk -v source="$(basename "$1")" -v must="$must" -f "$here/instructions.awk" | { c++filt 2>/dev/null || cat; }
}

faults=0 kernels=0
for source in "$@"; do for arch in $(architectures "$source"); do echo "$source $arch"; done; done |
  xargs -P "$(nproc 2>/dev/null || echo 2)" -L 1 bash -c 'compile "$0" "$1"'
disassemble=$(disassembler) || {
  echo "cuda-check: no nvdisasm, so instructions were not looked at" >&2
}
printf '%-6s %9s %6s %7s %7s %6s %6s %5s  %s\n' arch registers shared dynamic threads blocks spills stack kernel
for source in "$@"; do
  for arch in $(architectures "$source"); do
    name=$(basename "$source" .cu) to=$out/$(basename "$source" .cu).$arch
    if [ -e "$to/failed" ]; then
      fault "$source does not compile for sm_$arch without warnings:"
      grep -v '^ptxas info' "$to/log" | tail -n 20 >&2
      continue
    fi
    table=$({ cat "$to/$name.ptx"; echo; cat "$to/log"; } | awk -v arch="$arch" -v source="$name.cu" -v must="$must" -f "$here/occupancy.awk" |
      { c++filt 2>/dev/null || cat; })
    [ -n "$table" ] || { fault "no kernel in $source"; continue; }
    echo "$table"
    kernels=$((kernels + $(wc -l <<<"$table")))
    faults=$((faults + $(awk '$7 + $8 > 0' <<<"$table" | wc -l)))
    ! grep -q "are serialized" "$to/log" || fault "$source: wgmma is serialized by the compiler"
    [ -n "$disassemble" ] || continue
    while read -r line; do fault "$line (sm_$arch)"; done < <(instructions "$source" "$to"/*.cubin)
  done
done
echo "cuda-check: $kernels kernels, $faults faults"
[ "$faults" = 0 ]
