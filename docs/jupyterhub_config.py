"""JupyterHub for trying out a class on one machine: each user gets a copy of student/.

    CLASS_PASSWORD=… jupyterhub -f docs/jupyterhub_config.py

Everybody who knows the password can log in, and all learners' programs run as you. For more than
a trial, choose another authenticator and a spawner that isolates learners, such as DockerSpawner.
"""

import os
import shutil
from pathlib import Path

SHEETS = Path(__file__).resolve().parent.parent / "student"  # written by `make student`
FOLDERS = Path.home() / "class"  # a folder for each learner


def give_sheets(spawner):
    folder = FOLDERS / spawner.user.name
    if not folder.exists():
        shutil.copytree(SHEETS, folder)


c = get_config()  # noqa: F821
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = os.environ["CLASS_PASSWORD"]
if not c.DummyAuthenticator.password:
    raise SystemExit("CLASS_PASSWORD is empty: anybody could log in without a password")
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(FOLDERS / "{username}")
c.Spawner.pre_spawn_hook = give_sheets
c.Spawner.default_url = "/lab/tree/notebooks/00_start_here.ipynb"
c.Spawner.environment = {"OMP_NUM_THREADS": "1"}  # the learners share the cores
