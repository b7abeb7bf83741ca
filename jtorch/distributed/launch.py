"""``python -m torch.distributed.launch``, the older launcher: ``torch.distributed.run``, which also gives programs ``--local-rank``."""

from __future__ import annotations

from .run import get_args_parser, run


def main(args: list[str] | None = None) -> None:
    """The command."""
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", default=False, action="store_true", help="leave out the argument --local-rank")
    found = parser.parse_args(args)
    if not found.use_env:
        raise NotImplementedError(
            "torch.distributed.launch without --use-env is not offered by jtorch: programs read LOCAL_RANK from the environment; "
            "use torch.distributed.run"
        )
    run(found)


if __name__ == "__main__":
    main()
