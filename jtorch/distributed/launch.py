"""``python -m torch.distributed.launch``, the older launcher: ``torch.distributed.run``, which also
gives programs ``--local-rank``."""

from __future__ import annotations

import argparse

from .run import get_args_parser, run


def parse_args(args: list[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    parser = get_args_parser()
    parser.add_argument(
        "--use-env",
        "--use_env",
        default=False,
        action="store_true",
        help="leave out the argument --local-rank",
    )
    return parser.parse_args(args)


def launch(args: argparse.Namespace) -> None:
    """Starts what the options say and waits for it."""
    if args.no_python and not args.use_env:
        raise ValueError(
            "When using the '--no-python' flag, you must also set the '--use-env' flag."
        )
    if not args.use_env:
        raise NotImplementedError(
            "torch.distributed.launch without --use-env is not offered by jtorch: programs read "
            "LOCAL_RANK from the environment; use torch.distributed.run"
        )
    run(args)


def main(args: list[str] | None = None) -> None:
    """The command."""
    launch(parse_args(args))


if __name__ == "__main__":
    main()
