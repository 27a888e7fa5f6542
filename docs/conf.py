"""How these pages become a site: `make docs`. Every warning is an error."""

import re
from enum import Enum, EnumType
from importlib import import_module
from inspect import isclass, isfunction

from pydantic import BaseModel
from sphinx.application import Sphinx

from agent_tui import __version__
from agent_tui.protocol.data import Data

project = "agent-tui"
version = release = __version__
copyright = "the agent-tui authors, MIT licence"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["pictures"]
myst_heading_anchors = 4  # links to headings as a forge makes them
html_theme = "alabaster"
html_theme_options = {"description": "A coding agent for the terminal", "page_width": "1100px"}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_copy_source = False

default_role = "code"  # docstrings quote names by single backticks
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
nitpicky = True
nitpick_ignore = [("py:class", "agent_tui.toolkit.tool.P")]  # a type variable
nitpick_ignore_regex = [("py:.*", r"(?!agent_tui\b).*")]  # of types that are not ours there is no page here

EVENT = re.compile(r"~?typ(?:es|ing)\.Annotated\[~agent_tui\.protocol\.events\.TurnStarted[^\]]*\]")
ANNOTATED = re.compile(r"~?typ(?:es|ing)\.Annotated\[([^\[\]]*), ~?[\w.]*FieldInfo\([^)]*\)\]")
FUNCTION = re.compile(r"<function (\w+)[^>]*>")
MEMBER = re.compile(r"<(\w+\.\w+): [^>]*>")


def keep(_app: Sphinx, what: str, name: str, item: object, skip: bool, _options: object) -> bool | None:
    """Show the members of enumerations, whose names say what they are; leave out pydantic's own and defaults of fields."""
    if what != "class":
        return None
    if name in ("model_config", "model_post_init") or (isfunction(item) and "." not in item.__qualname__):
        return True
    return False if skip and isinstance(type(item), EnumType) else None


def plain_signature(
    _app: Sphinx,
    _what: str,
    _name: str,
    item: object,
    _options: object,
    signature: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Write what `repr` gives of unions, functions and enumerations as it stands in the source."""
    if isclass(item) and (issubclass(item, Enum) or getattr(item, "_is_protocol", False)):
        return "", returned  # nobody calls it
    return _plain(signature), _plain(returned)


def _plain(text: str | None) -> str | None:
    if text is None:
        return None
    text = ANNOTATED.sub(r"\1", EVENT.sub("~agent_tui.protocol.events.Event", text))
    return MEMBER.sub(r"\1", FUNCTION.sub(r"\1", text))


def build_types(base: type[BaseModel]) -> None:
    """Build what is built on first use: only then does its signature name the fields."""
    for one in base.__subclasses__():
        one.model_rebuild()
        build_types(one)


def setup(app: Sphinx) -> None:
    """Register what is above."""
    import_module("agent_tui.api")  # with it come all types that are shown
    build_types(Data)
    app.connect("autodoc-skip-member", keep)
    app.connect("autodoc-process-signature", plain_signature)
