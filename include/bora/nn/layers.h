// layers.h -- all layers: plain aggregates of NamedArrays and static values with an init and a call. Their initial
// values are nn::Init's default unless a model says its own.
#pragma once
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"
#include "bora/nn/attention.h"
#include "bora/nn/cross_attention.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/gated_mlp.h"
#include "bora/nn/head.h"
#include "bora/nn/layer_norm.h"
#include "bora/nn/mlp.h"
#include "bora/nn/relative_bias.h"
#include "bora/nn/rms_norm.h"
