"""`dibs warm`: compile everything now."""

from __future__ import annotations


def warm() -> int:
    """Compile all that dibs compiles, so that no later start has to.

    For an image or a class-room. It is kept for this user, or in the folder
    that NUMBA_CACHE_DIR names; a new version of dibs, of Numba or another kind
    of processor needs it again.

    For example:
      dibs warm
    """
    from dibs.compiled import folder
    from dibs.warm import warm as parts

    for name, seconds in parts():
        print(f"{name}: {seconds:.1f} s", flush=True)
    found = folder()
    if found is None:
        return 2
    print(f"kept in {found.parent}")
    return 0
