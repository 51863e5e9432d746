// functions.h -- the named forms of positional functions.
#pragma once
#include "bora/named/by_name.h"
#include "bora/named/elementwise.h"
#include "bora/named/reduce.h"
#include "bora/ops/functions.h"
#include "bora/ops/reduce.h"
#include "bora/ops/transform.h"
