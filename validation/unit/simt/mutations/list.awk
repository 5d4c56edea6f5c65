# Writes the C++ list of the bugs of all tables, `mutations` of mutations.h. Usage: awk -f read.awk -f list.awk TABLE...
BEGIN {
  for (i = 1; i < ARGC; ++i) read_table(ARGV[i])
  print "#include \"validation/unit/simt/mutations/mutations.h\"\n\nnamespace trireme::planted {"
  for (b = 1; b <= bugs; ++b) print "inline bool " name[b] " = false;"
  print "}  // namespace trireme::planted\n\nnamespace trireme::simt {\n\nconst std::vector<Mutation> mutations = {"
  for (b = 1; b <= bugs; ++b)
    print "    {\"" name[b] "\", \"" what[b] "\", checks::" check[b] ", &planted::" name[b] ", " (race[b] ? "true" : "false") "},"
  print "};\n\n}  // namespace trireme::simt"
}
