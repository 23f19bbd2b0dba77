"""The line of a terminal that says that a command is at work: shown after a while, and gone before anything else."""

import io
import time

from mmacalc import cli
from mmacalc.base import waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal_of(monkeypatch):
    """Standard error, which is a terminal now, on which the line is shown soon."""
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr(waiting, "DELAY", 0.02)
    monkeypatch.setattr(waiting, "STEP", 0.02)
    return shown


def test_work_that_takes_long_is_shown_and_the_line_is_erased(monkeypatch):
    terminal = terminal_of(monkeypatch)
    with waiting.Working("compare"):
        time.sleep(0.2)
    assert "\rmmacalc compare: 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    before = terminal.getvalue()
    time.sleep(0.1)
    assert terminal.getvalue() == before  # nothing comes after the end


def test_who_knows_how_much_is_done_has_the_line(monkeypatch):
    terminal = terminal_of(monkeypatch)
    with waiting.Working("gemm"):
        for done in range(5):
            waiting.LINE.show(f"{done} of 5")
            time.sleep(0.04)
    assert "4 of 5" in terminal.getvalue()
    assert "mmacalc gemm" not in terminal.getvalue()


def test_a_pipe_and_quick_work_show_nothing(monkeypatch):
    terminal = terminal_of(monkeypatch)
    with waiting.Working("find"):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with waiting.Working("find"):
        time.sleep(0.1)
    assert waiting.sys.stderr.getvalue() == ""


def test_the_command_line_shows_it_and_writes_its_answer_after_it(monkeypatch, capsys):
    terminal = terminal_of(monkeypatch)
    real = cli._result
    monkeypatch.setattr(cli, "_result", lambda argv: (time.sleep(0.2), real(argv))[1])
    assert cli.main(["find", "MI300X", "32x32x8", "f16"]) == 0
    assert "mmacalc find: 0 s" in terminal.getvalue()
    assert "v_mfma_f32_32x32x8_f16" in capsys.readouterr().out
