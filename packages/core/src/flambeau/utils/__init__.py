"""Home of the utilities that other distributions add: ``data``, ``checkpoint``, ``tensorboard`` and so on."""

import pkgutil

# The folder is shared: each of those distributions brings its own portion of it.
__path__ = pkgutil.extend_path(__path__, __name__)
