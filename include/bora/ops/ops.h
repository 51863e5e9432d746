// ops.h -- all public operations.
#pragma once
#include "bora/ops/axes.h"
#include "bora/ops/creation.h"
#include "bora/ops/custom.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/functions.h"
#include "bora/ops/index.h"
#include "bora/ops/print.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "bora/ops/special.h"
#include "bora/ops/view.h"
