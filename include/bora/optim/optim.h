// optim.h -- gradient transformations and optimizers with Optax's names and numerics (deepmind/optax).
#pragma once
#include "bora/named/named.h"
#include "bora/optim/optimizers.h"
#include "bora/optim/transform.h"
#include "bora/optim/transforms.h"
#include "bora/optim/updates.h"
