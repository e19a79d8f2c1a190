"""Whose a file is and who may read it, handed on to the file that takes its place.

Other extended attributes are left behind: they may hold a digest of the original, or words of it.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from dpsan.errors import OutputError

_ACL: Final = "system.posix_acl_access"
_NONE: Final = (errno.ENODATA, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)


def keep_owner(name: str, like: int, descriptor: int) -> None:
    """Give a new file the owner and group of another.

    Args:
        name: of the file, for the message.
        like: descriptor of the other file.
        descriptor: of the new file.

    Raises:
        OutputError: this process must not.
    """
    wanted, given = os.fstat(like), os.fstat(descriptor)
    if (wanted.st_uid, wanted.st_gid) == (given.st_uid, given.st_gid):
        return
    try:
        os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
    except OSError:
        raise OutputError(
            f"{name}: its owner and group cannot be kept", "-o writes a file of your own"
        ) from None


def keep_access(like: int, descriptor: int) -> None:
    """Give a new file the mode and the access control list of another.  Raises OSError."""
    os.fchmod(descriptor, stat.S_IMODE(os.fstat(like).st_mode))
    if not hasattr(os, "getxattr"):
        return
    acl = _acl(like)
    # A directory may have given the new file a list that the other file never had.
    if acl != _acl(descriptor):
        if acl is None:
            os.removexattr(descriptor, _ACL)
        else:
            os.setxattr(descriptor, _ACL, acl)


def _acl(descriptor: int) -> bytes | None:
    try:
        return os.getxattr(descriptor, _ACL)
    except OSError as error:
        if error.errno in _NONE:
            return None
        raise
