"""Where the stages of a pipeline are."""

from __future__ import annotations


class PipeliningMetadataError(RuntimeError):
    """What a stage takes or gives cannot be passed between stages, or is not what was said."""


def generate_stage_to_rank_mapping(
    pp_size: int, num_stages: int, style: str = "loop"
) -> dict[int, int]:
    """The rank of each stage: round and round (``"loop"``), or forth and back (``"v"``).

    Raises:
        ValueError: for another style, and where the stages do not fill the turns of a ``"v"``.

    >>> from jtorch.distributed.pipelining._utils import generate_stage_to_rank_mapping
    >>> generate_stage_to_rank_mapping(2, 4, "v")
    {0: 0, 1: 1, 2: 1, 3: 0}
    """
    if style not in ("loop", "v"):
        raise ValueError(f"Style {style} is not supported.")
    if style == "v" and num_stages % pp_size != 0:
        raise ValueError(
            f"num_stages {num_stages} must be evenly divisible by pp_size {pp_size} for V schedules"
        )
    found = {}
    for stage in range(num_stages):
        turn, place = divmod(stage, pp_size)
        found[stage] = pp_size - 1 - place if style == "v" and turn % 2 else place
    return found


def generate_rank_to_stage_mapping(
    pp_size: int, num_stages: int, style: str = "loop"
) -> dict[int, list[int]]:
    """The stages of each rank, in ascending order.

    >>> from jtorch.distributed.pipelining._utils import generate_rank_to_stage_mapping
    >>> generate_rank_to_stage_mapping(2, 4)
    {0: [0, 2], 1: [1, 3]}
    """
    found: dict[int, list[int]] = {}
    for stage, rank in generate_stage_to_rank_mapping(pp_size, num_stages, style).items():
        found.setdefault(rank, []).append(stage)
    return found
