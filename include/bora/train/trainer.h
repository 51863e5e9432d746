// trainer.h -- training: a task and its step, a model in training without its type, the run around it.
#pragma once
#include "bora/io/tree.h"
#include "bora/nn/loss.h"
#include "bora/train/loop.h"
#include "bora/train/task.h"
#include "bora/optim/optim.h"
