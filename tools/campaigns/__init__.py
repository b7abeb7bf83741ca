"""Long runs that look for what breaks: each module is one campaign,
``python -m tools.campaigns.<name>``; see ``docs/reliability.md``."""
