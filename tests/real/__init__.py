"""The doctor on other people's models: healthy training steps, and bugs from real threads.

step       a training step, healthy or with a seeded bug
libraries  what has to be done before a library can be imported here
healthy    steps with nothing wrong, one module per family of models
bugs       steps with one fault each, as somebody reported it
judging    are the doctor's claims true? Decided without the doctor
scores     run one step, and note what the doctor says of it
page       docs/real_models.md
"""
