// named.h -- operations on NamedArrays, which match axes by name, never by position: creation, moving axes,
// contraction, updates, and those of functions.h.
#pragma once
#include "bora/named/functions.h"
#include "bora/named/index.h"
#include "bora/named/operations.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"
#include "bora/tree/tree.h"
