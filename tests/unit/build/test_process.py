import os
import subprocess
import sys
import threading
import time

import psutil

from tracemill.build import process

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
TWO_SESSIONS = f"""
import subprocess, sys, time
inner = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], start_new_session=True, stdout=subprocess.PIPE)
inner.stdout.readline()
print(inner.pid, flush=True)
time.sleep(60)
"""
SUPERVISE = f"""
import subprocess, sys
from tracemill.build import process
process.adopt_orphans()
outer = subprocess.Popen([sys.executable, "-c", {TWO_SESSIONS!r}], start_new_session=True, stdout=subprocess.PIPE)
print(outer.stdout.readline().decode().strip(), flush=True)
process.end_descendants(grace=0.3)
"""


def test_no_descendant_survives_not_even_one_in_a_session_of_its_own_that_ignores_requests():
    done = subprocess.run([sys.executable, "-c", SUPERVISE], capture_output=True, text=True, timeout=60, check=True)
    pid = int(done.stdout)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_the_action_follows_the_death_of_a_watched_process():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    gone = threading.Event()
    process.when_gone([child.pid, os.getpid()], gone.set)
    time.sleep(0.1)
    assert not gone.is_set()
    child.kill()
    assert gone.wait(20)
    child.wait()


def test_a_process_that_is_gone_already_counts_as_gone():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    gone = threading.Event()
    process.when_gone([child.pid], gone.set)
    assert gone.is_set()
