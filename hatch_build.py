"""Compiles the emulator's C core into the wheel where there is a C compiler; without one the wheel is pure Python.

The core is a plain library that ctypes opens, so one wheel for each platform serves every Python (py3-none-PLATFORM).
MMACALC_BUILD_CORE=0 leaves the core out, MMACALC_BUILD_CORE=1 makes a core that cannot be compiled an error.
"""

import os
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import mkdtemp

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CoreHook(BuildHookInterface):
    """Hatchling calls `initialize` before it writes the wheel."""

    def initialize(self, version, build_data):
        """Compile the core and have it put into the wheel; an editable install keeps the one beside the source."""
        wish = os.environ.get("MMACALC_BUILD_CORE", "")
        if self.target_name != "wheel" or version == "editable" or wish == "0":
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
