#!/usr/bin/env bash
# Job scripts under a real Slurm, which validation/slurm/cluster.sh starts for this alone. The last line is "N passed, N failed,
# N skipped". Usage: run.sh PROGRAM [CASE...]; in the project's folder. KEEP=1 leaves the folder with logs and runs.
set -u
program=$(realpath "$1")
shift
project=$PWD
source validation/slurm/cluster.sh
need_slurm || exit 1
export cluster
cluster=$(mktemp -d /tmp/trireme-slurm-XXXXXX)
work="$cluster/work in a folder"
mkdir "$work"
finish() {
  stop_cluster
  [ -z "${KEEP:-}" ] || { echo "left: $cluster"; return; }
  rm -rf "$cluster"
}
trap finish EXIT
trap 'exit 1' INT TERM
start_cluster || exit 1
export OMP_NUM_THREADS=1 TRIREME=$program
unset SITE

# What cases are made of. A case is a function; what it calls "must" to be true and is not makes it fail.
script=$project/jobscripts/train.sbatch tiny=$project/input/tiny.toml
must() { "$@" || { faults+=("not true: $*"); return 1; }; }
submit() { (cd "$work" && sbatch --parsable -o "$work/%x-%j.log" "$@"); }     # prints the job's id
log_of() { cat "$work/trireme-$1.log" 2>/dev/null; }
says() { log_of "$1" | grep -qF -- "$2"; }
field() { scontrol show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
until_true() {  # seconds, words: whether they became true in time
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { faults+=("not in time: $*"); return 1; }
    sleep 0.2
  done
}
is() { [ "$(field "$1" "$2")" = "$3" ]; }
ended() { case $(field "$1" JobState) in COMPLETED | FAILED | CANCELLED | TIMEOUT | PREEMPTED | NODE_FAIL) ;; *) return 1 ;; esac; }
ends_with() { until_true 90 ended "$1" && must is "$1" ExitCode "$2:0"; }
steps_of() { sed '1d;s/,.*//' "$1/metrics.csv" 2>/dev/null; }
stepped() { [ "$(steps_of "$1" | tail -n 1)" -ge "$2" ] 2>/dev/null; }
status_is() { [ "$(head -n 1 "$1/status")" = "$2" ]; }
each_step_once() { [ "$(steps_of "$1" | uniq)" = "$(seq "$2")" ]; }

case_short_job() {  # Slurm's USR1, 300 s before the end, comes at once in a job of a minute
  short=$(submit --time=1 -n 1 "$script" "$tiny" run.directory=short run.steps=1000000 run.evaluate_every=0)
}
case_short_job_end() {  # submitted first, looked at later, as it takes its minute; then it comes back and goes on
  until_true 60 says "$short" "USR1 came too early"
  until_true 90 says "$short" "ALRM: the run is asked to save and end"
  until_true 60 says "$short" "resumed from step"
  touch "$work/short/STOP"
  ends_with "$short" 0
  must test "$(field "$short" Restarts)" -ge 1
}
case_no_warning() {  # neither a time limit nor USR1: Slurm's TERM at the end of the time, then KillWait
  late=$(submit --time=1 --signal=B:URG@10 -n 1 "$script" "$tiny" run.directory=late run.steps=1000000 run.time_limit=0)
}
case_no_warning_end() {
  until_true 150 says "$late" "resumed from step"
  touch "$work/late/STOP"
  ends_with "$late" 0
}
case_trains_to_the_end_by_requeue() {
  local job run=$work/end turn
  job=$(submit --time=30 -N 2 --ntasks-per-node=2 "$script" "$tiny" run.directory=end run.steps=120 parallel.tensor=2)
  for turn in 0 1; do
    until_true 60 stepped "$run" $((turn * 40 + 10)) && scancel -b -s TERM "$job"
    until_true 60 is "$job" Restarts $((turn + 1))
  done
  ends_with "$job" 0
  must status_is "$run" "0 done" && must each_step_once "$run" 120
  must says "$job" "restart 0: 4 ranks on node[1-2]" && must says "$job" "restart 2: 4 ranks on node[1-2]"
}
case_a_cancelled_job_does_not_come_back() {
  local job
  job=$(submit --time=30 -n 2 "$script" "$tiny" run.directory=cancelled run.steps=1000000)
  until_true 60 stepped "$work/cancelled" 3 && scancel "$job"
  until_true 60 ended "$job"
  sleep 10                                                                  # longer than a requeued job is held
  must is "$job" JobState CANCELLED && must is "$job" Restarts 0
  must grep -q "^85 saved at step" "$work/cancelled/status"
}
case_array() {  # the last task has the array's own id; it alone comes back
  local job task
  job=$(submit --time=30 --array=1-3 -n 1 "$script" "$tiny" run.directory=task-%a run.seed=%a run.steps=150)
  until_true 60 stepped "$work/task-3" 5 && scancel -b -s TERM "${job}_3"
  for task in 1 2 3; do
    ends_with "${job}_$task" 0
    must status_is "$work/task-$task" "0 done" && must grep -q "^seed *= *$task" "$work/task-$task/config.toml"
    must is "${job}_$task" Restarts $((task == 3))
  done
}
case_other_folder() {  # the program beside the script; input and results where sbatch was called
  local job
  cp "$tiny" "$work/my input.toml"
  job=$(env -u TRIREME bash -c "$(declare -f submit); work='$work'; submit --time=5 -n 1 '$script' 'my input.toml' run.directory='a run' run.steps=2")
  ends_with "$job" 0
  must status_is "$work/a run" "0 done"
}
case_no_program() {
  local job
  cp "$script" "$work/copied.sbatch"
  job=$(env -u TRIREME bash -c "$(declare -f submit); work='$work'; submit --time=5 -n 1 '$work/copied.sbatch' '$tiny'")
  ends_with "$job" 2
  must says "$job" "there is no program build/trireme in any of" && must says "$job" "  $work"
}
case_exclusive_without_a_number() {
  local job
  job=$(submit --time=5 -N 1 --exclusive "$script" "$tiny" run.directory=exclusive run.steps=2)
  ends_with "$job" 0
  must says "$job" ": 4 ranks on node"
  job=$(submit --time=5 -N 2 --exclusive -c 2 "$script" "$tiny" run.directory=exclusive-2 run.steps=2)
  ends_with "$job" 0
  must says "$job" ": 4 ranks on node[1-2]"
}
case_no_number() {
  local job
  job=$(submit --time=5 "$script" "$tiny")
  ends_with "$job" 2
  must says "$job" "say how many ranks"
}
case_heterogeneous_job() {
  local job
  job=$(submit --time=5 -N 1 -n 1 : -N 1 -n 2 "$script" "$tiny")
  ends_with "$job" 2
  must says "$job" "a heterogeneous job has 2 groups of nodes"
}
case_preempted_job_saves_first() {  # TERM, then 20 s; Slurm puts the job back itself, the urgent one runs meanwhile
  local job urgent
  job=$(submit --time=30 -n 4 -N 1 "$script" "$tiny" run.directory=preempted run.steps=1000000)
  until_true 60 stepped "$work/preempted" 3
  urgent=$(submit -p urgent --time=5 -N 2 --exclusive --wrap true)
  until_true 60 says "$job" "85 saved at step"
  until_true 90 ended "$urgent"
  until_true 90 says "$job" "restart 1"
  until_true 60 stepped "$work/preempted" 4
  touch "$work/preempted/STOP"
  ends_with "$job" 0
}
case_srun_by_hand() {
  local text
  text=$(cd "$work" && timeout 120 srun --mpi=pmi2 --time=5 -N 2 --ntasks-per-node=4 --distribution=block --cpu-bind=cores "$program" train \
    "$tiny" run.directory=by-hand run.steps=1 parallel.tensor=4 parallel.pipeline=2 2>&1)
  must test $? = 0 && must status_is "$work/by-hand" "0 done" && must grep -q "^layout: t = 4 p = 2 d = 1" <<<"$text"
}
case_chain() {  # an array, one task after the other in one folder: the ones behind the last step end at once
  local job
  job=$(submit --time=5 --array=1-2%1 -n 1 "$script" "$tiny" run.directory=chain run.steps=3)
  ends_with "${job}_1" 0
  ends_with "${job}_2" 0
  must status_is "$work/chain" "0 done" && must each_step_once "$work/chain" 3
}
case_srun_without_a_fitting_mpi() {  # worlds of one rank each: one message, nothing trained
  local text status
  text=$(cd "$work" && timeout 60 srun -n 2 --mpi=none --time=5 "$program" train "$tiny" run.directory=alone 2>&1)
  status=$?
  must test "$status" = 2 && must test "$(grep -c 'MPI sees one rank only' <<<"$text")" = 1
  must test ! -e "$work/alone"
}
case_job_with_another_mpi_type() {
  local job
  job=$(SLURM_MPI_TYPE=none submit --time=5 -n 2 "$script" "$tiny" run.directory=alone)
  ends_with "$job" 2
  must says "$job" "SLURM_STEP_NUM_TASKS=2" && must test ! -e "$work/alone"
}

# The two jobs that last go first and are looked at before the cases that need whole nodes.
order=(short_job no_warning other_folder no_program trains_to_the_end_by_requeue array a_cancelled_job_does_not_come_back short_job_end
  no_warning_end exclusive_without_a_number no_number heterogeneous_job chain srun_by_hand preempted_job_saves_first
  srun_without_a_fitting_mpi job_with_another_mpi_type)
[ $# = 0 ] || order=("$@")
passed=0 failed=0
for name in "${order[@]}"; do
  faults=() begin=$SECONDS
  "case_$name"
  if [ ${#faults[@]} = 0 ]; then passed=$((passed + 1)) verdict=passed; else failed=$((failed + 1)) verdict=FAILED; fi
  printf '%-40s %s  %3d s\n' "$name" "$verdict" $((SECONDS - begin))
  [ ${#faults[@]} = 0 ] || printf '    %s\n' "${faults[@]}"
done
[ "$failed" = 0 ] || for log in "$work"/*.log; do echo "--- $log"; tail -n 30 "$log" | cut -c1-300; done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
