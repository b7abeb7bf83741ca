"""Trains the small GPT of ``char_gpt.py`` on several processes, whose number may change whenever
training goes on from a checkpoint.

On one machine, with four processes that share the parameters among them, or have each a copy of
them (``ddp``):

    torchrun --nproc-per-node=4 distributed_gpt.py --steps 200 --out out/gpt
    torchrun --nproc-per-node=2 distributed_gpt.py --steps 400 --out out/gpt --parallel ddp

The second command goes on where the first one ended. Under jtorch ``torchrun`` is ``jtorchrun``, or
``python -m jtorch -m torch.distributed.run``.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from char_gpt import GPT, initialize, load_text
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


class Training:
    """All that a checkpoint holds: the model and its optimiser under the parameters' names, and how
    many steps were done."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.step = model, optimizer, 0

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "step": self.step}

    def load_state_dict(self, state):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self.step = state["step"]


def spread(model, how):
    """The model over all processes: a part of each parameter on each of them, or a copy."""
    if how == "ddp":
        return DistributedDataParallel(model)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def batch_of(ids, args, step):
    """This process's part of the batch of a step, which depends on the step alone: not on who
    computes it, nor on restarts."""
    rng = np.random.default_rng([args.seed, step])
    starts = rng.integers(0, len(ids) - args.context - 1, args.batch_size)
    mine = starts[dist.get_rank() :: dist.get_world_size()]
    return torch.from_numpy(np.stack([ids[s : s + args.context + 1] for s in mine]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parallel", choices=["fsdp", "ddp"], default="fsdp")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument(
        "--batch-size",
        type=int,
        default=16,
        help="of all processes together; must be divisible by their number",
    )
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--sample", type=int, default=300, help="characters to write at the end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/distributed_gpt"),
        help="folder for the checkpoint and the written text",
    )
    args = parser.parse_args()

    if "RANK" not in os.environ:  # started without a launcher: a world of one
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if args.batch_size % world:
        parser.error(f"a batch of {args.batch_size} cannot be divided among {world} processes")

    def say(*words):
        if rank == 0:
            print(*words, flush=True)

    torch.manual_seed(args.seed)
    text, alphabet, ids = load_text()
    model = GPT(len(alphabet), args.context, args.width, args.heads, args.layers, dropout=0.0)
    initialize(model, args.seed)
    count = sum(p.numel() for p in model.parameters())
    model = spread(model, args.parallel)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.01
    )
    training = Training(model, optimizer)
    checkpoint = args.out / "checkpoint"
    if (checkpoint / ".metadata").exists():
        dcp.load({"training": training}, checkpoint_id=checkpoint)
        say(f"going on from step {training.step}")
    say(
        f"{len(text)} characters, {len(alphabet)} different ones, {count} weights, {world} "
        f"processes, {args.parallel}"
    )

    every, start, losses, first = max(args.steps // 10, 1), time.perf_counter(), [], training.step
    # Checkpoints are written while training goes on, so what the processes say to each other for
    # them needs a group of its own.
    background, saved = dist.new_group(), None
    while training.step < args.steps:
        training.step += 1
        windows = batch_of(ids, args, training.step)
        loss = model(windows[:, :-1], windows[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
        if training.step % every == 0:
            mean = torch.stack(losses).mean()
            losses.clear()
            dist.all_reduce(mean, op=dist.ReduceOp.SUM)
            say(f"step {training.step:5d}/{args.steps}  loss {mean.item() / world:.4f}")
        if training.step % args.save_every == 0 or training.step == args.steps:
            if saved is not None:
                saved.result()  # at most one is written at a time
            saved = dcp.async_save(
                {"training": training}, checkpoint_id=checkpoint, process_group=background
            )
    if saved is not None:
        saved.result()
        seconds = time.perf_counter() - start
        done = (training.step - first) * args.batch_size * args.context
        say(
            f"trained in {seconds:.1f} s, {done / seconds:.0f} characters a second; checkpoint "
            f"{checkpoint}"
        )

    whole = get_model_state_dict(
        model, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
    )
    if rank == 0:  # the others have got nothing, and nothing to do
        alone = GPT(len(alphabet), args.context, args.width, args.heads, args.layers, dropout=0.0)
        alone.load_state_dict(whole)
        prompt = [alphabet.index(c) for c in "The "]
        written = alone.write(prompt, args.sample, 0.8, torch.Generator().manual_seed(args.seed))
        sample = "".join(alphabet[i] for i in written)
        (args.out / "sample.txt").write_text(sample, encoding="utf-8")
        sys.stdout.write(f"\n{sample}\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
