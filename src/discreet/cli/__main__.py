"""Run the command `discreet` with `python -m discreet.cli`."""

from discreet.cli import app

if __name__ == "__main__":
    app(prog_name="discreet")
