#!/usr/bin/env python3
"""Programs may name axes as they like at global scope: usual names of axes, declared beside `using namespace bora`
behind all public headers, mean what the program declared. axis_names.py ROOT COMPILER [flags...]
"""
import os
import pathlib
import re
import string
import subprocess
import sys

NAMES = """
Action Actions Agent Agents Amplitude Angle Anchor Annotator Area Argument Attribute Author Band Bands Basis Batch
BatchSize Beam Beams Bias Bin Bins Bit Bits Block Blocks Body Box Boxes Branch Bucket Buckets Buffer Byte Bytes Camera
Candidate Candidates Capacity Category Categories Cell Cells Chain Chains Channel Channels Char Chars Character Chunk
Chunks City Class Classes Client Clients Cluster Clusters Code Codebook Codes Coefficient Coefficients Col Color
Column Columns Cols Component Components Concept Condition Conditions Config Context Control Coord Coordinate
Coordinates Copies Corner Count Country Data Dataset Datasets Date Day Days Decoder Degree Depth Detector Device
Devices Dim Dimension Direction Directions Disc Distance Doc Docs Document Documents Draw Draws Edge Edges Element
Elements Embed Embedding EmbedDim Encoder Ensemble Entity Entities Entry Env Envs Epoch Epochs Episode Era Event
Events Example Examples Experiment Expert Experts Face Faces Factor Factors Feature Features Feat Field Fields File
Filter Filters Flag Flow Fold Folds Frame Frames Freq Frequency Frequencies Gate Gates Gene Generation Group Groups
Grid Hand Harmonic Head Heads HeadDim HeadSize Height Hidden HiddenSize History Horizon Host Hosts Hour Identity Image
Images In Index Indices Inner Input Inputs Instance Interaction Intermediate Interval Item Items Iteration Joint
Joints Kernel Key KeyPos KeyPosition Keys Keypoint KPos KVHeads KVHead Label Labels Lag Lags Landmark Language Lat
Latent Latents Lane Lanes Layer Layers Leaf Left Length Lengths Letter Level Levels Line Lines Link Links Location Lon
Lora LoraRank Loop Map Maps Mark Marker Match Memory Member Members Memories Metric Metrics Microbatch Minibatch
Mixture Mlp MlpDim Modality Mode Model Models Modes Module Moment Month Node Nodes Note Nodule Object Objects Obs
Observation Observations Offset Op Option Options Order Outer Out Output Outputs Owner Pad Page Pages Pair Pairs
Parameter Parameters Part Particle Particles Partition Patch Patches Patient Path Paths Phase Phases Phone Pixel
Pixels Place Plane Player Players Point Points Pole Pool Population Pos Position Positions Power Prefix Probe Process
Product Prompt Property Proposal Pulse QHeadsPerGroup QHeads QPos Quantile Quantiles Query Queries Rank Ranks Rating
Ray Rays Reader Record Records Region Regions Relation Repeat Replica Replicas Residual Residue Resolution Response
Right Ring Role Root Round Rounds Row Rows Run Runs Sample Samples Scale Scales Scene Score Seed Seeds Segment
Segments Sensor Sensors Sentence Seq SeqLen Sequence Sequences Series Session Set Sets Shard Shards Shift Signal Site
Sites Size Slice Slices Slot Slots Source Sources Space Span Spans Spatial Species Speaker Spin Split Splits Stack
Stage Stages Stat State States Station Step Steps Stream Stride Student Subject Subjects Subset Suffix Symbol Target
Targets Task Tasks Teacher Team Tap Term Terms Test Text Texts Thread Tile Tiles Time Times Timestep Token Tokens
TopExperts TopK Topic Trace Track Train Trajectory Transition Tree Trees Trial Trials Turn TypeVocab Unit Units User
Users Value Values Variable Variables Variant Vector Vectors Vertex Vertices Video View Views Vocab Vocabulary Voxel
Wave Wavelength Week Weight Weights Width Window Windows Word Words Worker Workers World Year Zone
""".split() + list(string.ascii_uppercase)

root, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
folders = [root / "include", root / "transport/include"]
headers = [h.relative_to(top).as_posix() for top in folders for h in sorted(top.rglob("*.h"))]
program = "".join(f"#include <{h}>\n" for h in headers) + "using namespace bora;\n"
program += "".join(f'Axis {n}{{"{n}", 2}};\n' for n in NAMES)
program += "std::vector<Axis> all_of_them() { return {" + ", ".join(NAMES) + "}; }\n"
r = subprocess.run([*command, "-std=c++20", "-fsyntax-only", "-fno-diagnostics-color", "-x", "c++", "-",
                    *(f"-I{f}" for f in folders)],
                   input=program, text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})
taken = sorted(set(re.findall(r"reference to '(\w+)' is ambiguous", r.stderr)))
if taken:
    print("a type in namespace bora has the name of an axis, and needs a second word:", *taken)
elif r.returncode:
    print(r.stderr)
print(len(NAMES), "names,", len(headers), "headers")
sys.exit(r.returncode)
