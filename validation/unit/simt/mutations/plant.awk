# Writes a copy of a source in which every bug of its table can be planted at run time, by a bool of the bug's name. README.md says
# how a table is written. Usage: awk -v source=FILE -v table=FILE -f read.awk -f plant.awk; no table: a copy without bugs
BEGIN {
  text = contents(source)
  if (table != "") read_table(table)
  for (p = 1; p <= places; ++p) find(p)
  for (size = length(text); size > 0; --size)  # what encloses another place is written around it
    for (p = 1; p <= places; ++p)
      if (end_of[p] - begin_of[p] == size) wrap(p)
  ORS = ""
  print "namespace trireme::planted {\n"
  for (b = 1; b <= bugs; ++b) print "inline bool " name[b] " = false;\n"
  print "}  // namespace trireme::planted\n#line 1 \"" source "\"\n"
  last = 1
  for (at = 1; at <= length(text); ++at)
    if (at in closing || at in opening) {
      print substr(text, last, at - last) closing[at] opening[at]
      last = at
    }
  print substr(text, last)
}

function contents(file, line, all) {
  while ((getline line < file) > 0) all = all line "\n"
  return all
}

# Where the text of place p begins and ends
function find(p, other) {
  begin_of[p] = index(text, old[p])
  if (begin_of[p] == 0) fail(name[bug_of[p]], source " does not have this text: " old[p])
  if (index(substr(text, begin_of[p] + 1), old[p]) > 0) fail(name[bug_of[p]], source " has this text more than once: " old[p])
  end_of[p] = begin_of[p] + length(old[p])
  for (other = 1; other < p; ++other)
    if (crosses(p, other) || crosses(other, p)) fail(name[bug_of[p]], "its text and that of " name[bug_of[other]] " cross")
}
function crosses(p, other) {
  return begin_of[other] < begin_of[p] && begin_of[p] < end_of[other] && end_of[other] < end_of[p]
}

# Text that ends in ; or } is statements, other text an expression. Its lines stay where they are, so that reports name them.
function wrap(p, flag) {
  flag = "::trireme::planted::" name[bug_of[p]]
  if (old[p] ~ /[;}]$/) {
    opening[begin_of[p]] = opening[begin_of[p]] "{ if (" flag ") { " new[p] " } else { "
    closing[end_of[p]] = " } }" closing[end_of[p]]
  } else {
    if (new[p] == "") fail(name[bug_of[p]], "an expression must become another one")
    opening[begin_of[p]] = opening[begin_of[p]] "(" flag " ? (" new[p] ") : ("
    closing[end_of[p]] = "))" closing[end_of[p]]
  }
}
