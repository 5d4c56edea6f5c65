// Stand-ins for Slurm's commands, and jobscripts/train.sbatch run with them as a compute node's shell runs it.
#pragma once

#include <sys/stat.h>

#include "validation/unit/support/process.h"

namespace trireme::test {

// Each writes its words to $SEEN. One task of an array has the array's own job id: asked for that, Slurm speaks of every task.
inline constexpr const char* squeue_text = R"(#!/bin/bash
echo "squeue $*" >>"$SEEN"
[ "$SQUEUE" != fails ] || exit 1
case "$*" in
  *"-o %T"*) echo "${STATE:-RUNNING 0:30}" ;;
  *"-j 7 "*) [ -z "$SLURM_ARRAY_TASK_ID" ] || echo "$SQUEUE"; echo "$SQUEUE" ;;
  *) echo "$SQUEUE" ;;
esac
)";
inline constexpr const char* scontrol_text = R"(#!/bin/bash
echo "scontrol $*" >>"$SEEN"
case $1 in
  show) [ -z "$COMMAND" ] || printf 'JobId=7\n   Command=%s\n   WorkDir=/nowhere\n' "$COMMAND" ;;
  requeue) exit "${REQUEUE_FAILS:-0}" ;;
esac
)";
inline constexpr const char* sleep_text = "#!/bin/sh\nexit 0\n";
// Launches the program where LAUNCH is set; else ends as STATUS and CODE say. SIGNALS: what it does to the script meanwhile.
inline constexpr const char* srun_text = R"(#!/bin/bash
echo "srun $1" >>"$SEEN"
ranks=${1#--ntasks=}
while [[ $1 == -* ]]; do shift; done
printf '[%s]\n' "${@:2}" >>"$SEEN"
env | grep -E '^(SLURM_EXPORT_ENV|SLURM_MPI_TYPE|FROM_SITE)=' >>"$SEEN"
for word; do case $word in run.directory=*) run=${word#*=} ;; esac; done
[ -z "$LAUNCH" ] || exec "$LAUNCH" -n "$ranks" "$@"
trap 'echo "srun got USR1" >>"$SEEN"; got=1' USR1
eval "$SIGNALS"
mkdir -p "$run"
[ -z "$STATUS" ] || { rm -f "$run/status"; echo "$STATUS" >"$run/status"; }
exit "${CODE:-0}"
)";

inline void write_script(const std::string& path, const std::string& text) {
  write_text_below(path, text);
  chmod(path.c_str(), 0755);
}

/// Slurm's stand-ins in a folder of their own, a run's folder, and what was seen.
struct Job {
  Job() {
    write_script(folder / "bin/squeue", squeue_text);
    write_script(folder / "bin/scontrol", scontrol_text);
    write_script(folder / "bin/srun", srun_text);
    write_script(folder / "bin/sleep", sleep_text);
  }

  /// `settings` NAME=VALUE, the last wins, or -u NAME; `words` after the input file. In the folder `in`, with `script`.
  Result run(const Words& settings, const Words& words = {}, const std::string& script = "jobscripts/train.sbatch") {
    Words all = {"env", "-C", in};
    for (const auto& setting : settings)
      if (setting.starts_with("-u")) all.push_back(setting);
    for (const std::string& setting :
         {"PATH=" + folder / "bin" + ":" + std::getenv("PATH"), "SEEN=" + folder / "seen", "TRIREME=" + program().string(),
          std::string("SLURM_JOB_ID=7"), std::string("SLURM_NTASKS=2"), std::string("SQUEUE=4:00:00"),
          std::string("STATUS=0 done"), std::string("SLURM_SUBMIT_DIR=" + in)})
      all.push_back(setting);
    for (const auto& setting : settings)
      if (!setting.starts_with("-u")) all.push_back(setting);
    for (const char* word : {"bash", script.c_str(), input.c_str()}) all.push_back(word);
    all.push_back("run.directory=" + directory);
    all.insert(all.end(), words.begin(), words.end());
    const Folder outputs;
    Result result = Process(all, outputs).wait(60);
    seen = read_text(folder / "seen");
    fs::remove(folder / "seen");
    return result;
  }

  Folder folder;
  std::string in = fs::current_path(), input = "input/tiny.toml", directory = folder / "run", seen;
};

}  // namespace trireme::test
