"""Says what machine the programs in the wheel are for: they are no Python, but they are no others' either."""

import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ForThisMachine(BuildHookInterface):
    """The hook that hatchling looks for."""

    def initialize(self, version, build_data):
        """Sets the tag of the wheel."""
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
