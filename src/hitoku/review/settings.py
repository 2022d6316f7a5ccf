"""What a centre decides about its application: one TOML file in its folder; every setting has a default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hitoku.errors import ParameterError
from hitoku.files import write_file
from hitoku.parameters import Count, whole
from hitoku.toml import load_toml, toml_value, validated

FILE = "review.toml"


class Proxy(BaseModel):
    """A proxy that signs people in and names them in a header; believed from listed addresses only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    header: Annotated[str, Field(min_length=1)] = "X-Remote-User"
    addresses: Annotated[tuple[str, ...], Field(min_length=1)]


class Oidc(BaseModel):
    """An identity provider (OpenID Connect); people are known by a claim of its tokens.

    Parameters
    ----------
    issuer, client
        Its address, and our name there.
    secret_file
        A file with the secret that it gave us; not in the settings, which are read more often.
    redirect
        Where it sends people back to: https://our.name/oidc/callback.
    claim
        What has somebody's login.
    button
        What the page calls it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Annotated[str, Field(min_length=1)]
    client: Annotated[str, Field(min_length=1)]
    secret_file: Annotated[str, Field(min_length=1)]
    redirect: Annotated[str, Field(pattern=r"^https?://.+/oidc/callback$")]
    claim: str = "preferred_username"
    button: str = "Sign in through the centre"


class ReviewSettings(BaseModel):
    """The settings.

    Parameters
    ----------
    database
        Address of the database; empty for a SQLite file in the folder.
    team
        What pages call the centre.
    turnaround_days
        Working days within which a request is answered.
    reviews
        Blinded reviews that phase 1 takes.
    separate_phases
        Whoever reviewed in phase 1 does not decide in phase 2.
    idle_minutes, session_hours
        How long a session lasts without a click, and at most.
    https
        Cookies are sent over https only; set it to false for a try on loopback.
    check_seconds
        How long the check of a submission may take.
    upload_bytes, unpacked_bytes, most_files
        How large a submission may be, packed and unpacked.
    hosts
        Names under which the application is reached; anything else is refused.
    proxies
        Addresses of proxies in front of the application: the address that they name in X-Forwarded-For counts
        when wrong passwords are counted.
    proxy, oidc
        Other ways to sign in.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: str = ""
    team: str = "Output checking"
    turnaround_days: Count = 5
    reviews: Annotated[int, whole(1, 5)] = 2
    separate_phases: bool = True
    idle_minutes: Count = 60
    session_hours: Count = 12
    https: bool = True
    check_seconds: Count = 900
    upload_bytes: Count = 200_000_000
    unpacked_bytes: Count = 1_000_000_000
    most_files: Count = 2_000
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    proxies: tuple[str, ...] = ()
    proxy: Proxy | None = None
    oidc: Oidc | None = None


def read_settings(folder: Path) -> ReviewSettings:
    """Read the settings of a folder; the first thing that is wrong is named."""
    path = folder / FILE
    if not path.is_file():
        raise ParameterError(
            "settings_missing",
            "no {file} in {folder}",
            where=str(folder),
            fix="hitoku serve init FOLDER",
            file=FILE,
            folder=folder.name or folder,
        )
    try:
        given, origin = load_toml(path.read_text("utf-8"), str(path), "file of settings")
    except UnicodeDecodeError:
        raise ParameterError("not_utf8", "not UTF-8 text", where=str(path), fix="save it as UTF-8") from None
    return validated(ReviewSettings, given, origin, otherwise="see docs/how-to/run-the-review-application.md")


def write_settings(folder: Path, **given: Any) -> None:
    """Begin a file of settings: those given, and the others as comments."""
    defaults = ReviewSettings().model_dump(exclude={"proxy", "oidc"})
    lines = ["# Settings of the review application. A line that is commented out shows the default.", ""]
    for name, usual in defaults.items():
        value = given.get(name, usual)
        lines.append(f"{'' if name in given else '# '}{name} = {toml_value(value)}")
    lines += ["", "# [proxy]", '# header = "X-Remote-User"', '# addresses = ["127.0.0.1"]', ""]
    write_file(folder / FILE, "\n".join(lines).encode(), private=True)
