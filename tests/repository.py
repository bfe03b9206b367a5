"""A git repository in a folder of a test."""

import subprocess

AUTHOR = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]


def git(folder, *arguments):
    """What git says."""
    command = ["git", *AUTHOR, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def commit_all(folder):
    git(folder, "init", "-q")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "All files")


def changed(folder):
    """The tracked files that are not as in the last commit."""
    return git(folder, "diff", "--name-only", "HEAD").split()
