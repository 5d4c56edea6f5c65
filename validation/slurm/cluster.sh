# A private Slurm of two nodes on this machine, for validation/slurm/run.sh, which sources this file. It shares nothing with a Slurm of
# the machine: configuration, ports, spool, state and munge's socket and key lie in the folder $cluster. Needs Debian's packages.

need_slurm() {  # installs what is missing where that is possible, else says it and ends with 1
  local missing=() tool
  for tool in slurmctld:slurmctld slurmd:slurmd sbatch:slurm-client munged:munge; do
    command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "test-slurm: missing: ${missing[*]}. On Debian, as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "apt-get install ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

free_ports() {  # the first of $1 ports in a row that nobody listens at
  local first port used
  for first in $(shuf -i 20000-30000 -n 50); do
    used=""
    for ((port = first; port < first + $1; port++)); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && used=1; done
    [ -n "$used" ] || { echo "$first"; return; }
  done
  return 1
}

write_configuration() {
  local user host port
  user=$(id -un) host=$(hostname -s) port=$(free_ports 3)
  cat >"$cluster/slurm.conf" <<CONF
ClusterName=trireme
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
# cred_expire is also how long a job that was put back is held: 120 s where nothing is said, 5 s at least.
AuthInfo=socket=$cluster/munge/socket,cred_expire=5
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool.%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=2,preempt_youngest_first
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=20
MinJobAge=3600
JobAcctGatherType=jobacct_gather/none
NodeName=node[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime=20 State=UP
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=9 PreemptMode=OFF State=UP
CONF
}

daemons=()
start_cluster() {
  local k
  mkdir -p "$cluster"/{state,munge,log,spool.node1,spool.node2}
  chmod 700 "$cluster/munge"
  head -c 128 /dev/urandom >"$cluster/munge/key"
  chmod 600 "$cluster/munge/key"
  write_configuration
  export SLURM_CONF=$cluster/slurm.conf
  munged --foreground --force --socket="$cluster/munge/socket" --key-file="$cluster/munge/key" --pid-file="$cluster/munge/pid" \
    --log-file="$cluster/log/munged" --seed-file="$cluster/munge/seed" >"$cluster/log/munged.out" 2>&1 &
  daemons+=($!)
  for ((k = 0; k < 100; k++)); do [ -S "$cluster/munge/socket" ] && break; sleep 0.1; done
  slurmctld -D >"$cluster/log/slurmctld" 2>&1 &
  daemons+=($!)
  for k in 1 2; do
    slurmd -D -N "node$k" >"$cluster/log/slurmd.node$k" 2>&1 &
    daemons+=($!)
  done
  for ((k = 0; k < 200; k++)); do
    [ "$(sinfo -h -N -p main -t idle -o %N 2>/dev/null | wc -l)" = 2 ] && return 0
    sleep 0.2
  done
  echo "test-slurm: the private Slurm did not start within 40 s:" >&2
  tail -n 5 "$cluster"/log/* >&2
  return 1
}

stop_cluster() {  # every daemon that start_cluster started, by its process id, and the jobs that are left
  local job k
  for job in $(squeue -h -o %A 2>/dev/null | sort -u); do scancel "$job" 2>/dev/null; done
  for ((k = 0; k < 100; k++)); do [ -z "$(squeue -h 2>/dev/null)" ] && break; sleep 0.2; done
  for ((k = ${#daemons[@]} - 1; k >= 0; k--)); do kill "${daemons[k]}" 2>/dev/null; done
  wait "${daemons[@]}" 2>/dev/null
}
