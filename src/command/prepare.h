// trireme prepare TEXT... --output PREFIX [--tokenizer bytes]: texts into a token file, one document a text.
#pragma once

namespace trireme::command {

/// argv[0] is "prepare". Returns the exit status; throws base::Error: bad_input for what the user can mend, and then nothing was
/// changed. Not a parallel command: one process.
int prepare(int argc, char** argv);

}  // namespace trireme::command
