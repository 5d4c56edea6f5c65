# From PTX, then ptxas -v's words, the rows of resources.sh's table.
function least(a, b) { return a < b ? a : b }
function blocks(threads, registers, shared,    warps, of_registers) {
  warps = int((threads + 31) / 32)
  of_registers = 4 * int(16384 / (256 * int((32 * registers + 255) / 256)))  # warps; each of four parts of an SM has its own
  return least(least(32, int(2048 / (32 * warps))), least(int(of_registers / warps), int(sm_shared / (1024 + 128 * int((shared + 127) / 128)))))
}
BEGIN {
  sm_shared = (arch == "80" ? 164 : 228) * 1024
}
/\.entry / { entry = $0; sub(/.*\.entry */, "", entry); sub(/\(.*/, "", entry) }
/^\.maxntid/ { gsub(/,/, ""); threads[entry] = $2 * ($3 ? $3 : 1) * ($4 ? $4 : 1) }
/dynamic_shared_bytes/ { dynamic[entry] = $NF }
/Compiling entry function/ { split($0, part, "\x27"); name = part[2]; here = part[4] == "sm_" arch; entry = "" }
here && /bytes stack frame/ { stack = $1; spills = $5 + $9 }
here && /Used [0-9]+ registers/ {
  registers = shared = 0
  for (i = 1; i <= NF; ++i) { if ($i ~ /^registers/) registers = $(i - 1); if ($i ~ /^smem/) shared = $(i - 2) }
  bytes = name in dynamic ? dynamic[name] : 0
  resident = name in threads ? blocks(threads[name], registers, shared + bytes) : "-"
  printf "sm_%-3s %9d %6d %7s %7s %6s %6d %5d  %s\n", arch, registers, shared, bytes, name in threads ? threads[name] : "-", resident, spills, stack, name
}
