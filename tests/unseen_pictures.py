"""For tests of explorers that look at no picture: laying it out and recording it takes longest."""

import pytest

from autograd_surprises.show.live_picture import LivePicture


def only_say(picture):
    picture.size, picture.summary = [800, 340], picture._figure.summary


@pytest.fixture(autouse=True)
def unseen_pictures(monkeypatch):
    monkeypatch.setattr(LivePicture, "lay_out", lambda picture: None)
    monkeypatch.setattr(LivePicture, "refresh", only_say)
