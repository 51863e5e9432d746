// functions.h -- the named forms of positional functions.
#pragma once
#include "bora/named/by_name.h"
#include "bora/named/elementwise.h"
#include "bora/named/reduce.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
