# From nvdisasm's words: each kernel of `must` for this source that lacks an instruction; or the rule that
# no kernel fits.
BEGIN {
  for (count = split(must, rows, "\n"); count > 0; --count) {
    n = split(rows[count], rule, " ")
    if (rule[1] != source) continue
    for (wanted[rule[2]] = ""; n > 2; --n) wanted[rule[2]] = wanted[rule[2]] " " rule[n]
  }
}
/^\.text\./ {
  kernel = substr($0, 7, length($0) - 7)
  for (name in wanted) if (index(kernel, length(name) name)) rules[kernel] = name
}
/^ *\/\*[0-9a-f]+\*\// && kernel in rules {
  split($2 ~ /^@/ ? $3 : $2, opcode, ".")
  seen[kernel, opcode[1]] = 1
}
END {
  for (kernel in rules) {
    fits[rules[kernel]] = 1
    n = split(wanted[rules[kernel]], list, " ")
    for (i = 1; i <= n; ++i) if (!((kernel, list[i]) in seen)) print source ": no " list[i] " in " kernel
  }
  for (name in wanted) if (!(name in fits)) print source ": no kernel " name
}
