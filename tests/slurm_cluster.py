"""A real Slurm on this machine for the length of a test: munge, controller and node daemon in a folder of their own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

CONFIGURATIONS = Path("/etc/slurm")  # where `srun` on a node looks: the executor passes no SLURM_CONF on
NEEDED = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "squeue")

CONFIGURATION = """\
ClusterName=drill
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
GresTypes=gpu
NodeName={node} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=1000 Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes={node} Default=YES State=UP
PartitionName=gpu Nodes={node} State=UP
"""


def missing() -> str:
    """Why there can be no cluster here; empty when there can."""
    if os.geteuid() != 0:
        return "starting Slurm's daemons needs root"
    if _belongs_to_a_cluster():
        return "this machine belongs to a Slurm cluster already"
    absent = [name for name in NEEDED if shutil.which(name) is None]
    return f"Slurm is not installed ({', '.join(absent)} not found): apt-get install slurm-wlm munge" if absent else ""


def _belongs_to_a_cluster() -> bool:
    """Whether a configuration is there that is not what a killed test left behind."""
    try:
        ours = (CONFIGURATIONS / "slurm.conf").read_text().startswith(CONFIGURATION.splitlines()[0])
    except FileNotFoundError:
        return False
    return not ours or any(process.name() == "slurmctld" for process in psutil.process_iter())


@contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """Start the daemons and end them after the block."""
    node = socket.gethostname()
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    fields = {"folder": folder, "node": node, "controller": _port(), "daemon": _port(), "cores": os.cpu_count()}
    written = [CONFIGURATIONS / "slurm.conf", CONFIGURATIONS / "gres.conf"]
    CONFIGURATIONS.mkdir(exist_ok=True)
    written[0].write_text(CONFIGURATION.format(**fields))
    written[1].write_text(f"NodeName={node} Name=gpu File=/dev/null Count=1\n")
    subprocess.run(["mungekey", "--create", f"--keyfile={folder}/munge.key"], check=True)
    munge = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log"}
    munge["seed-file"] = "munge.seed"
    commands = [
        ["munged", "--foreground", "--force", *(f"--{option}={folder}/{name}" for option, name in munge.items())],
        ["slurmctld", "-D"],
        ["slurmd", "-D", "-N", node],
    ]
    daemons = []
    try:
        for command in commands:
            with (folder / f"{command[0]}.out").open("w") as out:
                daemons.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT))
            time.sleep(1.0)
        _wait_until_idle(folder)
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
        for path in written:
            path.unlink()


def _wait_until_idle(folder: Path) -> None:
    for _ in range(60):
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
        if "idle" in done.stdout:
            return
        time.sleep(0.5)
    logs = "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in sorted(folder.glob("*.out")))
    raise RuntimeError(f"the node did not become idle: {done.stdout} {done.stderr}\n{logs}")


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
