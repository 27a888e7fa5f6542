"""Runs the program: the prompt is drawn first, then everything else is imported."""

import sys

from agent_tui.run.standard_streams import make_usable
from agent_tui.ui.instant import draw_at_once


def main() -> int:
    """Run the command line and give its exit code."""
    make_usable()
    drawn = draw_at_once(sys.argv[1:])
    try:
        from agent_tui.ui.lean import compile_dataclasses_late

        compile_dataclasses_late()
        from agent_tui import cli  # 25 ms that the prompt need not wait for

        return cli.main(drawn=drawn)
    except (
        Exception
    ) as error:  # a damaged installation: what turns faults into sentences could not be imported
        if drawn is not None and (typed := drawn.restore()):
            print(f"Typed and not sent:\n{typed}", file=sys.stderr)
        what = f"{type(error).__name__}: {error}".split("\n")[0]
        print(f"agent-tui cannot be loaded ({what}); install it again.", file=sys.stderr)
        return 1
    finally:
        if drawn is not None:
            drawn.restore()


if __name__ == "__main__":
    sys.exit(main())
