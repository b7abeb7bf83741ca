"""Two processes save a checkpoint, and then another in its place, during which one of them is
killed."""

import os
import signal
import sys

import jtorch as torch
import jtorch.distributed as dist
import jtorch.distributed.checkpoint as dcp


class Killed(dcp.DefaultSavePlanner):
    """Ends the process in the middle of its file."""

    written = 0

    def resolve_data(self, write_item):
        self.written += 1
        if dist.get_rank() == 1 and self.written == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().resolve_data(write_item)


dist.init_process_group("gloo")
dcp.save({name: torch.ones(1000) for name in ("a", "b", "c", "d")}, checkpoint_id=sys.argv[1])
second = {name: torch.full((1000,), 2.0) for name in ("a", "b", "c", "d")}
if sys.argv[2] == "save":
    dcp.save(second, checkpoint_id=sys.argv[1], planner=Killed())
else:
    dcp.async_save(second, checkpoint_id=sys.argv[1], planner=Killed()).result()
