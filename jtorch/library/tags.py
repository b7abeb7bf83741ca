"""What may be said of an operator: the tags that libraries give where they define one, and that
``func.tags`` tells."""

from __future__ import annotations

from .._src.facts.tags import Tag as Tag
