// transforms.h -- every transform of functions of trees.
#pragma once
#include "bora/fx/checkpoint.h"
#include "bora/fx/control.h"
#include "bora/fx/custom.h"
#include "bora/fx/grad.h"
#include "bora/fx/jit.h"
#include "bora/fx/print.h"
#include "bora/fx/vmap.h"
