#!/bin/bash
# The same command on eight machines: sbatch docs/scale/slurm.sh
# The store hands out the work; a task that is killed leaves nothing behind but what was in flight.
#SBATCH --job-name=judge
#SBATCH --array=0-7
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=12:00:00
#SBATCH --requeue
set -euo pipefail

# The key and the database's password come from files that only you can read, not from this script.
export OPENAI_API_KEY="$(cat "$HOME/.openai-key")"
export PGPASSFILE="$HOME/.pgpass"

# Every task ends when all is done, and all of them have the same rows: one is enough.
output=judgments.jsonl
[ "$SLURM_ARRAY_TASK_ID" = 0 ] || output="${TMPDIR:-/tmp}/judgments.$SLURM_JOB_ID.jsonl"

# --rpm, --max-cost and --concurrency are those of one task: divide yours by eight.
srun adjudge judge pairs.jsonl --judge openai:gpt-4.1-mini \
  --store postgresql://judge@db.example/judgments \
  --rpm 600 --max-cost 5 -o "$output"
