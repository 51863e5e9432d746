// xtensor.h -- xtensor as a first language: its containers and expressions wherever an Array is taken, in transforms,
// as results of draws; Arrays as xtensor adaptors.
// Names of xtensor stay qualified beside `using namespace bora` (all(), arange(10), mean(x, {0}) would be ambiguous).
#pragma once
#include "bora/ops/ops.h"
#include "bora/xtensor_control.h"
#include "bora/xtensor_mixed.h"
#include "bora/xtensor_random.h"
