#!/usr/bin/env bash
# Prints what every CUDA kernel takes of an SM, from what nvcc kept in FOLDER/NAME for each SOURCE NAME.cu: log, PTX, cubins.
# Faults: spills, stack frames, tensor-core kernels without their instructions. Last line: "cuda-check: N kernels, N faults".
#   shared, dynamic  bytes a block; of dynamic memory the most that the kernel says it is launched with
#   threads          a block, from __launch_bounds__; - without
#   blocks           that an SM holds at once, by registers (65,536, in units of 256 a warp), threads (2,048), blocks (32) and shared
#                    memory (164 KiB on sm_80, 228 KiB on sm_90, 1 KiB of it reserved a block)
# Usage: NVCC=... resources.sh FOLDER SOURCE.cu...
set -u
here=$(dirname "$0") out=$1
shift

# source, kernels, instructions that every one of them has: tensor cores, matrix loads, asynchronous copies, the trap of a wait
# that never ends
must="gemm_tensor.cu        product           HMMA LDSM LDGSTS
      attention.cu          attend            HMMA LDSM LDGSTS
      attention_backward.cu gradients         HMMA LDSM LDGSTS
      pipeline_sm90.cu      pipelined_product HGMMA UTMALDG UTMASTG BPT"

disassembler() {  # prints the command; the toolkit's smallest installations lack it, PyPI has it
  local tool
  for tool in "$(dirname "$NVCC")/nvdisasm" "$(command -v nvdisasm)" build/nvdisasm/nvidia/*/bin/nvdisasm; do
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
disassemble=$(disassembler) || {
  echo "cuda-check: no nvdisasm, so instructions were not looked at" >&2
}
printf '%-6s %9s %6s %7s %7s %6s %6s %5s  %s\n' arch registers shared dynamic threads blocks spills stack kernel
for source in "$@"; do
  name=$(basename "$source" .cu) to=$out/${source%.cu}
  archs=$(sed -n "s/.*Compiling entry function.* for 'sm_\([0-9a-z]*\)'.*/\1/p" "$to/log" | sort -u)
  [ -n "$archs" ] || fault "no kernel in $source"
  for arch in $archs; do
    ptx=$to/$name.compute_$arch.ptx cubin=("$to/$name.compute_$arch"*.cubin)
    [ -e "$ptx" ] || ptx=$to/$name.ptx cubin=("$to/$name"*.cubin)  # of a source for one architecture
    table=$({ cat "$ptx"; echo; cat "$to/log"; } | awk -v arch="$arch" -f "$here/occupancy.awk" |
      { c++filt 2>/dev/null || cat; })
    [ -n "$table" ] || { fault "$source: ptxas says nothing of sm_$arch that is understood here"; continue; }
    echo "$table"
    kernels=$((kernels + $(wc -l <<<"$table")))
    faults=$((faults + $(awk '$7 + $8 > 0' <<<"$table" | wc -l)))
    [ -n "$disassemble" ] || continue
    while read -r line; do fault "$line (sm_$arch)"; done < <(instructions "$source" "${cubin[@]}")
  done
  ! grep -q "are serialized" "$to/log" || fault "$source: wgmma is serialized by the compiler"
done
echo "cuda-check: $kernels kernels, $faults faults"
[ "$faults" = 0 ]
