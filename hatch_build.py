"""Puts the manual pages into the wheel, and the emulator's C core where there is a C compiler.

The core is a plain library that ctypes opens, so one wheel for each platform serves every Python (py3-none-PLATFORM).
Without a compiler the wheel is pure Python.
MMACALC_BUILD_CORE=0 leaves the core out, MMACALC_BUILD_CORE=1 makes a core that cannot be compiled an error.
"""

import os
import subprocess
import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import mkdtemp

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CoreHook(BuildHookInterface):
    """Hatchling calls `initialize` before it writes the wheel."""

    def initialize(self, version, build_data):
        """Write the manual pages, compile the core, and have them put into the wheel.

        An editable install has no manual pages, and keeps the core that is beside the source.
        """
        if self.target_name != "wheel" or version == "editable":
            return
        folder = mkdtemp()
        environment = {**os.environ, "PYTHONPATH": str(Path(self.root) / "src")}
        subprocess.run([sys.executable, "-m", "mmacalc.cli.manual", folder], env=environment, check=True)
        shared = build_data.setdefault("shared_data", {})
        shared.update({str(path): f"share/man/man1/{path.name}" for path in sorted(Path(folder).iterdir())})
        self._add_core(build_data)

    def _add_core(self, build_data):
        """The core, which MMACALC_BUILD_CORE may ask for or leave out."""
        wish = os.environ.get("MMACALC_BUILD_CORE", "")
        if wish == "0":
            return
        spec = spec_from_file_location("core", Path(self.root) / "src/mmacalc/emulator/core.py")
        core = module_from_spec(spec)
        spec.loader.exec_module(core)
        try:
            built = core.build(Path(mkdtemp()))
        except (RuntimeError, OSError) as error:
            if wish == "1":
                raise
            self.app.display_warning(f"mmacalc is built without its C core, and will compute on NumPy: {error}")
            return
        build_data["force_include"][str(built)] = f"mmacalc/emulator/{built.name}"
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
