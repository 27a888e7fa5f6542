"""One sentence for what was decided about a call, from plain records: what was shown live is shown again."""

from agent_tui.sessions.encoding import as_object, as_objects
from agent_tui.sessions.frames import RawRecord, text_of

_SCOPES = {"session": "for this session", "project": "for this project", "user": "for every project"}


def decided(request: RawRecord, verdict: RawRecord) -> str:
    """Say what was decided, by whom or which rule, about which target, with the person's words, on one line."""
    name, title = text_of(request, "display_name") or text_of(request, "tool"), text_of(request, "title")
    call = f"{name}: {title}" if title else name
    feedback = text_of(verdict, "feedback")
    words = f" “{feedback}”" if feedback else ""
    return " ".join(f"{_what(request, verdict)} {call}{_changes(verdict)}{words}".split())


def _what(request: RawRecord, verdict: RawRecord) -> str:
    if verdict.get("deferred"):
        return "put off"
    decisions = as_objects(verdict.get("permissions"))
    denied = [one for one in decisions if one.get("decision") == "deny"]
    answered = {text_of(one, "permission_id") for one in decisions}
    asked = {text_of(one, "id") for one in as_objects(request.get("permissions"))}
    if denied or asked - answered:
        rule = next((text for one in denied if (text := _rule(one))), "")
        return f"denied by {rule}:" if rule else _lasting("denied", denied) or "denied"
    if lasting := _lasting("allowed", decisions):
        return lasting
    rules = [_rule(one) for one in decisions if one.get("decided_by") != "person" and _rule(one)]
    return f"allowed by {rules[0]}:" if rules else "allowed once"


def _lasting(word: str, decisions: list[RawRecord]) -> str:
    """Say for how long, as the first lasting answer says; "" when none lasts."""
    lasting = [one for one in decisions if text_of(one, "scope") in _SCOPES]
    if not lasting:
        return ""
    patterns = ", ".join(dict.fromkeys(filter(None, (text_of(one, "pattern") for one in lasting))))
    return f"{word} {_SCOPES[text_of(lasting[0], 'scope')]}{f' ({patterns})' if patterns else ''}:"


def _rule(decision: RawRecord) -> str:
    return text_of(as_object(decision.get("rule")), "text")


def _changes(verdict: RawRecord) -> str:
    parts: list[str] = []
    if verdict.get("edited_arguments") is not None:
        parts.append("edited")
    hunks = verdict.get("accepted_hunks")
    if isinstance(hunks, list):
        parts.append(f"{len(hunks)} hunks")
    return f" ({', '.join(parts)})" if parts else ""
