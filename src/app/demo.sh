# sh -c THIS BORA YAML key=value ..: the demo, in runs/demo-N of the working folder. With the texts of fortunes, the
# package of that name.
set -e
bora=$0 yaml=$1 n=1 child=
shift
command -v curl >/dev/null || { echo "bora: demo: install curl, which asks the served model" >&2; exit 2; }
mkdir -p runs
while [ -e runs/demo-$n ]; do n=$((n + 1)); done
out=runs/demo-$n
mkdir $out
printf '%seval_rows: 256\n' "$yaml" >$out.yaml
# Where the processor multiplies bf16, the model computes in it. The user's settings come last, and count.
if grep -q -w -e avx512_bf16 -e amx_bf16 /proc/cpuinfo; then set -- policy=p=f32,c=bf16,o=f32 "$@"; fi
set -- $out.yaml log_every=100 "$@"

say() { printf '\033[1m%s\033[0m\n' "$*"; }
# What runs ends with this script: a shell would wait for it first.
run() { "$bora" "$@" & child=$!; wait $child; child=; }
trap 'kill $child 2>/dev/null; wait; exit 130' INT TERM HUP
# One that ends before it trains leaves no folder of a run.
leave() {
  [ -z "$child" ] || kill $child 2>/dev/null || :
  rm -rf $out/init $out/init.log
  if rmdir $out 2>/dev/null; then rm -f $out.yaml; fi
}
trap leave EXIT
digest() {   # digest RANKS LAYOUT STEPS settings..
  ranks=$1 layout=$2 steps=$3
  shift 3
  run launch -n $ranks --layout $layout "$@" --out $out/init steps=$steps >$out/init.log
  grep '^init digest' $out/init.log
  # As many steps as 100 s have room for, 500 to 2000: on a busy or slow host the training is shorter.
  [ $steps = 0 ] || steps=$(grep -o '"throughput/step_seconds": [^,]*' $out/init/metrics.jsonl | LC_ALL=C sort -k2 -g |
    LC_ALL=C awk '{ t[NR] = $2 }
      END { n = NR ? 100 * int(1 / t[int((NR + 1) / 2)]) : 2000; print (n < 500 ? 500 : n > 2000 ? 2000 : n) }')
  rm -r $out/init $out/init.log
}
ask() {   # ask PROMPT SEED
  curl -sS -f "$url/completions" -d "{\"prompt\": \"$1\", \"max_tokens\": 80, \"temperature\": 0.8, \"seed\": $2}" |
    grep -o '"text":".*","logprobs"'
}

say "1. The same initialisation, bit for bit, on every mesh: one rank, two ranks tensor parallel, two ranks FSDP"
digest 1 fsdp 0 "$@"
digest 2 tp 0 "$@"
case " $*" in
  *" steps="*) digest 2 fsdp 0 "$@" ;;
  *) digest 2 fsdp 20 "$@"; set -- "$@" steps=$steps ;;
esac
say "2. Training on two processes: parameters, gradients and optimizer state split between them ($out)"
run launch -n 2 --layout fsdp "$@" --out $out
say "3. Text from the trained model"
run generate $out --prompt "The " --length 300 --temperature 0.8 --top-k 40 --shift
say "4. The model served: the same text alone and beside eight others"
"$bora" serve $out --port 0 >$out/serve.log 2>&1 &
child=$!
until url=$(grep -o 'http://[^ ]*' $out/serve.log); do
  kill -0 $child 2>/dev/null || { cat $out/serve.log >&2; exit 2; }
  sleep 0.1
done
alone=$(ask "The " 1)
others=
for i in 1 2 3 4 5 6 7 8; do ask "Number $i: " $((i % 3)) >/dev/null & others="$others $!"; done
beside=$(ask "The " 1)
for other in $others; do wait $other; done
text=${alone#\"text\":}
printf '%s: %s\n' "$url" "${text%,\"logprobs\"}"
[ "$alone" = "$beside" ] || { printf 'bora: demo: beside others it was %s\n' "$beside" >&2; exit 1; }
kill $child
wait $child
child=
say "5. What it left"
[ "$(command -v bora)" -ef "$bora" ] && bora=bora
cat <<END
checkpoints  $out/checkpoints
metrics      $out/metrics.jsonl
plot         $out/loss.svg
settings     $out/config.yaml

train on      $bora launch -n 2 -- train $out/config.yaml steps=3000
generate      $bora generate $out --prompt 'Love is' --temperature 0.8
serve         $bora serve $out
look inside   $bora inspect $(find $out/checkpoints -name 'step-*' | sort -V | tail -1)
END
