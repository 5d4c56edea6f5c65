# Reads tables of bugs, for plant.awk and list.awk. A place is a text of the source that a bug changes.
#   bugs     their number; of bug b: name[b], what[b], check[b], race[b]: 1 where only ThreadSanitizer need notice
#   places   their number; of place p: bug_of[p], old[p], new[p]
function read_table(file, line, last, now, rest) {
  table_read = file
  while ((getline line < file) > 0) {
    if (line ~ /^(bug|race) [a-z0-9_]+: ./) {
      rest = substr(line, index(line, " ") + 1)
      name[++bugs] = substr(rest, 1, index(rest, ":") - 1)
      what[bugs] = substr(rest, index(rest, ":") + 2)
      check[bugs] = now
      race[bugs] = line ~ /^race/
      if (name[bugs] in taken) fail(name[bugs], "another bug has this name")
      taken[name[bugs]]
      if (now == "") fail(name[bugs], "no line `check NAME` before it")
    } else if (line ~ /^- /) {
      if (last ~ /^- /) old[places] = old[places] "\n" substr(line, 3)
      else {
        old[++places] = substr(line, 3)
        bug_of[places] = bugs
      }
    } else if (line ~ /^\+ /) {
      new[places] = new[places] (last ~ /^\+ / ? " " : "") substr(line, 3)
    } else if (line ~ /^check [a-z0-9_]+$/) {
      now = substr(line, 7)
    } else if (line != "" && line !~ /^#/) fail(name[bugs], "not understood: " line)
    last = line
  }
  close(file)
}

function fail(bug, why) {
  print table_read ": " (bug == "" ? "" : bug ": ") why > "/dev/stderr"
  exit 1
}
