#!/usr/bin/env python3
"""Writes events.tfevents: an event file as TensorBoard's own library (2.21) encodes it, with fixed times. Needs
`pip install tensorboard`. tests/track/files_test.cpp compares all bytes but the times."""
import pathlib
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter


def scalars(**values):
    return Summary(value=[Summary.Value(tag=tag.replace("_", "/", 1), simple_value=x) for tag, x in values.items()])


TIME = 1.6e9
events = [Event(wall_time=TIME, file_version="brain.Event:2"),
          Event(wall_time=TIME, step=4, session_log=SessionLog(status=SessionLog.START)),
          Event(wall_time=TIME, step=4, summary=scalars(train_loss=2.5, eval_loss=0.1)),
          Event(wall_time=TIME, step=300, summary=scalars(train_loss=0, optim_learning_rate=3e-4))]
with open(pathlib.Path(__file__).parent / "events.tfevents", "wb") as file:
    writer = RecordWriter(file)
    for event in events:
        writer.write(event.SerializeToString())
