#!/bin/bash
# A Ray cluster on the machines of one Slurm job, and a run on it: sbatch docs/scale/ray.sh
# Without Slurm: the two `ray start` lines by hand, the first on the head, the second on the others.
#SBATCH --job-name=judge-ray
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=32
#SBATCH --time=12:00:00
set -euo pipefail

# Whoever reaches Ray's ports can run code: a token that this job alone knows keeps others out.
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN="$(openssl rand -hex 32)"
export PGPASSFILE="$HOME/.pgpass"

# Fixed, because on a busy machine the agents miss the 15 seconds that Ray waits for their ports.
ports="--dashboard-agent-listen-port 52365 --dashboard-agent-grpc-port 52366
  --metrics-export-port 52367 --runtime-env-agent-port 52368"
common="$ports --disable-usage-stats --object-store-memory 200000000 --block"
head=$(hostname)

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
  ray start --head --port 6379 --include-dashboard false $common &
sleep 30
srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" --overlap \
  ray start --address "$head:6379" $common &
sleep 30

# One worker for every GPU of the job, here 32. The model's files are on a disk that all of them see.
adjudge judge pairs.jsonl --judge transformers:/models/Qwen2.5-7B-Instruct \
  --store postgresql://judge@db.example/judgments \
  --engine ray --ray-address "$head:6379" -o judgments.jsonl
