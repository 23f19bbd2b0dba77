"""Serve editors: a language server on standard input and output, for .s, .ptx, .sass, .hip, .cu and the like.

    mmacalc lsp
    mmacalc lsp -a gfx942

It shows, on a matrix instruction or a compiler's builtin, its layout in the registers of the line, its cycles and
which lines must wait for it; what `mmacalc lint` finds, while one types; edits that insert the missing s_nop or
s_waitcnt; and the cycles behind each matrix instruction. The architecture is that of the text (.amdgcn_target,
.target, or a comment `mmacalc: gfx942`), else that of -a. It needs the Python package pygls (the extra mmacalc[lsp]).
How VS Code, Neovim and Helix are set up: https://mmacalc.github.io/mmacalc/editors.html
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..base.version import __version__
from ..command import Command, Reply
from ..command.common import TARGET
from .editing import Document

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..command import Options

__all__ = ["COMMAND", "server"]

DELAY = 0.15  # seconds without a keystroke, after which a text is checked


def server(architecture: str | None = None) -> Any:
    """The language server; architecture: of texts that name none.

    Raises:
        ModuleNotFoundError: the package pygls is not installed.
    """
    from pygls.lsp.server import LanguageServer

    made = LanguageServer("mmacalc", __version__)
    _Features(made, architecture).register()
    return made


class _Features:
    """What the server answers. `documents` holds the text of each open file in its last version, read once."""

    def __init__(self, made: Any, architecture: str | None) -> None:
        self.server: Any = made
        self.architecture: str | None = architecture
        self.documents: dict[str, tuple[int | None, Document]] = {}
        self.waiting: dict[str, int] = {}

    def register(self) -> None:
        """Enter every feature."""
        from lsprotocol import types

        kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
        answers: dict[str, Callable[..., Any]] = {
            types.TEXT_DOCUMENT_DID_OPEN: self.opened, types.TEXT_DOCUMENT_DID_CHANGE: self.changed,
            types.TEXT_DOCUMENT_DID_CLOSE: self.closed, types.TEXT_DOCUMENT_HOVER: self.hover,
            types.TEXT_DOCUMENT_INLAY_HINT: self.hints, types.TEXT_DOCUMENT_CODE_ACTION: self.actions,
        }  # fmt: skip
        for name, answer in answers.items():
            options = (kinds,) if name == types.TEXT_DOCUMENT_CODE_ACTION else ()
            self.server.feature(name, *options)(partial(answer))  # pygls sets attributes, which a method lacks

    def document(self, uri: str) -> Document:
        """The text of a file in its present version."""
        found = self.server.workspace.get_text_document(uri)
        version, document = self.documents.get(uri, (None, None))
        if document is None or version != found.version or version is None:
            document = Document(uri.partition("?")[0], found.source, self.architecture)
            self.documents[uri] = found.version, document
        return document

    def opened(self, params: Any) -> None:
        """Check a file at once."""
        self.publish(params.text_document.uri)

    async def changed(self, params: Any) -> None:
        """Check a file when the typing has paused."""
        import asyncio

        uri = params.text_document.uri
        ticket = self.waiting[uri] = self.waiting.get(uri, 0) + 1
        await asyncio.sleep(DELAY)
        if self.waiting.get(uri) == ticket:
            self.publish(uri)

    def closed(self, params: Any) -> None:
        """Forget a file."""
        from lsprotocol import types

        uri = params.text_document.uri
        self.documents.pop(uri, None)
        self.waiting.pop(uri, None)
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def publish(self, uri: str) -> None:
        """Send what is wrong in a file."""
        from lsprotocol import types

        document = self.document(uri)
        levels = {name.lower(): level for name, level in types.DiagnosticSeverity.__members__.items()}
        found = []
        for one in document.problems():
            related = None
            if one.first >= 0:
                place = types.Location(uri, self.range(document, one.first, 0, len(document.lines[one.first])))
                related = [types.DiagnosticRelatedInformation(place, document.lines[one.first].strip())]
            where = self.range(document, one.line, one.start, one.end)
            found.append(types.Diagnostic(where, one.message, levels[one.severity], one.code, source="mmacalc",
                                          related_information=related))  # fmt: skip
        version = self.documents[uri][0]
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def range(self, document: Document, line: int, start: int, end: int) -> Any:
        """A part of a line as the client counts its characters."""
        from lsprotocol import types

        codec = self.server.workspace.position_codec
        units = [codec.client_num_units(document.lines[line][:column]) for column in (start, end)]
        return types.Range(*[types.Position(line, column) for column in units])

    def hover(self, params: Any) -> Any:
        """What the instruction under the pointer does."""
        from lsprotocol import types

        document = self.document(params.text_document.uri)
        if params.position.line >= len(document.lines):
            return None
        place = self.server.workspace.position_codec.position_from_client_units(document.lines, params.position)
        if (found := document.hover(place.line, place.character)) is None:
            return None
        markdown = types.MarkupContent(types.MarkupKind.Markdown, found.text)
        return types.Hover(markdown, self.range(document, place.line, found.start, found.end))

    def hints(self, params: Any) -> Any:
        """The cycles behind matrix instructions."""
        from lsprotocol import types

        document = self.document(params.text_document.uri)
        shown = document.hints(params.range.start.line, params.range.end.line)
        places = [self.range(document, one.line, one.column, one.column).start for one in shown]
        return [types.InlayHint(at, one.text, padding_left=True) for at, one in zip(places, shown)]

    def actions(self, params: Any) -> Any:
        """The edits that repair what is wrong in a selection."""
        from lsprotocol import types

        uri, document = params.text_document.uri, self.document(params.text_document.uri)
        found = []
        for one in document.fixes(params.range.start.line, params.range.end.line):
            at = types.Position(one.line, 0)
            edit = types.WorkspaceEdit({uri: [types.TextEdit(types.Range(at, at), one.text)]})
            repaired = [each for each in params.context.diagnostics
                      if each.source == "mmacalc" and each.range.start.line == one.line]  # fmt: skip
            found.append(types.CodeAction(one.title, types.CodeActionKind.QuickFix, repaired, edit=edit))
        return found


def run(options: Options) -> Reply:
    """Serve until the editor ends."""
    if options.architecture is not None:
        from ..catalog import entry

        entry(options.architecture)  # refuse an unknown one now, not in every file
    server(options.architecture).start_io()
    return Reply(0, "", "")


COMMAND = Command(
    "lsp", "serve editors (Language Server Protocol): hovers, lint, fixes, cycles", "work with it", __doc__,
    (TARGET._replace(help="the GPU architecture or target of texts that name none"),), run,
)  # fmt: skip
