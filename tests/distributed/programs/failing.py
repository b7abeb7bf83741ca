"""A process of three that fails in a way of its own, and what the others see."""

import datetime
import os
import signal
import sys
import time

import jtorch as torch
import jtorch.distributed as dist

how, culprit = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank = dist.get_rank()
late = how in ("hangs", "stops")
# whose time it is, and not the default group's
group = dist.new_group(timeout=datetime.timedelta(seconds=3)) if late else None
t = torch.ones(3)
dist.all_reduce(t, group=group)
dist.send(t, (rank + 1) % 3)
dist.recv(t, (rank - 1) % 3)
dist.barrier()
if rank == culprit:
    if how == "raises":
        raise ValueError("had enough")
    if how == "exits":
        os._exit(7)
    if how == "hangs":
        time.sleep(8)
        os._exit(0)
    if how == "stops":  # whoever asks it for a key of the store gets no answer
        os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGKILL)
begin = time.time()
try:
    if how == "is missed":
        dist.recv(t, culprit)
    else:
        dist.all_reduce(t, group=group)
except dist.DistBackendError as e:
    sys.stdout.write(f"{time.time() - begin:.1f} seconds: {e}\n")
    sys.stdout.flush()
    if late:  # it ends at once, while the thread of the call that was given up comes back
        if rank:
            dist.destroy_process_group()
        sys.exit(1)
    raise
