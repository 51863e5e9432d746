#!/usr/bin/env python3
"""Writes events.tfevents: an event file as TensorBoard's own library (2.21) encodes it, with fixed times. Needs
`pip install tensorboard`. tests/track/files_test.cpp compares all bytes but the times."""
import pathlib
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.hparams import metadata as hparams, plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def scalars(**values):
    return Summary(value=[Summary.Value(tag=tag.replace("_", "/", 1), simple_value=x) for tag, x in values.items()])


def text(tag, words, first=True):
    """What tensorboard.plugins.text.metadata makes of a list of one text; the plugin is named once for a tag."""
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"), data_class=2)
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=7, tensor_shape=shape, string_val=[words.encode()])
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", tensor=tensor,
                                        metadata=metadata if first else None)])


def session(tag, data):
    metadata = hparams.create_summary_metadata(data)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=hparams.NULL_TENSOR)])


def started():
    info = plugin_data_pb2.SessionStartInfo(start_time_secs=TIME)
    info.hparams["batch"].number_value = 8
    info.hparams["log.digest"].bool_value = False
    info.hparams["model.type"].string_value = "gpt2"
    info.hparams["steps"].number_value = 0.5
    return session("_hparams_/session_start_info", plugin_data_pb2.HParamsPluginData(session_start_info=info))


def ended():
    info = plugin_data_pb2.SessionEndInfo(status="STATUS_SUCCESS", end_time_secs=TIME)
    return session("_hparams_/session_end_info", plugin_data_pb2.HParamsPluginData(session_end_info=info))


TIME = 1.6e9
YAML = "batch: 8\nsteps: 0.5\nlog:\n  digest: false\nmodel: {type: gpt2}\n"
HISTOGRAM = HistogramProto(min=-1, max=3, num=6, sum=4.5, sum_squares=20.25, bucket_limit=[-0.5, 0, 4],
                           bucket=[1, 0, 5])
events = [Event(wall_time=TIME, file_version="brain.Event:2"),
          Event(wall_time=TIME, step=4, session_log=SessionLog(status=SessionLog.START)),
          Event(wall_time=TIME, step=4, summary=scalars(train_loss=2.5, eval_loss=0.1)),
          Event(wall_time=TIME, step=300, summary=scalars(train_loss=0, optim_learning_rate=3e-4)),
          Event(wall_time=TIME, step=4, summary=started()),
          Event(wall_time=TIME, step=4, summary=text("settings", f"```yaml\n{YAML}```\n")),
          Event(wall_time=TIME, step=7, summary=text("event/disk", "it is full")),
          Event(wall_time=TIME, step=9, summary=text("event/disk", "again", first=False)),
          Event(wall_time=TIME, step=300, summary=Summary(value=[Summary.Value(tag="params/w", histo=HISTOGRAM)])),
          Event(wall_time=TIME, summary=ended())]
with open(pathlib.Path(__file__).parent / "events.tfevents", "wb") as file:
    writer = RecordWriter(file)
    for event in events:
        writer.write(event.SerializeToString(deterministic=True))
