"""Stand-ins for modules that AgentDojo imports and its suites do not use.

Its full list of packages has the SDKs of five providers and is 30 times as large. So only the packages of
`requirements.txt` are installed.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


def add_stand_ins() -> None:
    """Put the stand-ins into the list of imported modules. Must come before the first import of AgentDojo."""
    package = find_spec("agentdojo")
    if package is None or package.origin is None:
        sys.exit("AgentDojo is not installed; run tests/agentdojo/run")
    folder = Path(package.origin).parent
    # The package imports the clients of all providers. Its other modules are needed.
    pipeline = ModuleType("agentdojo.agent_pipeline")
    pipeline.__path__ = [str(folder / "agent_pipeline")]
    google = ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    google.EMPTY_FUNCTION_NAME = ""  # type: ignore[attr-defined]
    # It prints logs in colours.
    logging = ModuleType("agentdojo.logging")
    logging.Logger = object  # type: ignore[attr-defined]
    progress = ModuleType("rich.progress")
    progress.track = iter  # type: ignore[attr-defined]
    for module in [pipeline, google, logging, progress]:
        sys.modules[module.__name__] = module
    for package_name in ["agentdojo.agent_pipeline.llms", "rich"]:
        empty = ModuleType(package_name)
        empty.__path__ = []
        sys.modules[package_name] = empty
