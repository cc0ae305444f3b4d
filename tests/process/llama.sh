#!/bin/sh
# examples/llama makes the tokens that a decoder in float64 makes, from every kind of folder; a folder that is no model
# says what is wrong with it. Counters: a second process compiles nothing.
. "$(dirname "$0")/lib.sh"
reference=$build/tests/llama_reference
prompt="5 17 80 3 9"

# same FOLDER DTYPE FILES BITS NEAREST COUNT SEED [tied] [llama3]: tokens are those of the reference
same()
{
    folder=$1 dtype=$2 files=$3 bits=$4 nearest=$5 count=$6 seed=$7
    shift 7
    mkdir "$folder"
    "$reference" make "$folder" "$dtype" "$files" "$seed" "$@"
    "$reference" run "$folder" "$bits" "$nearest" "$count" $prompt >wanted
    set --
    [ "$bits" = 0 ] || set -- --quantize "$bits"
    "$bin/llama" "$folder" $prompt --count "$count" "$@" >got
    expect "$folder" "$(cat got)" "$(cat wanted)"
    expect "$folder: tokens" "$(wc -l <got)" "$count"
}

same model float32 single 0 0.005 24 1
same half float16 sharded 0 0.01 16 1
same sharded bfloat16 sharded 0 0.05 12 1
same codes float32 single 4 0.005 24 1 tied
same half-codes bfloat16 single 4 0.05 12 5
same bytes float32 single 8 0.005 16 1 llama3
same long float16 sharded 0 0.01 16 1 llama3 tied

# The prompt from standard input; what was compiled; the end of a text.
"$bin/llama" model $prompt --count 8 >all
echo $prompt | "$bin/llama" model --count 8 --stats >got 2>stats
expect "tokens of standard input" "$(cat got)" "$(cat all)"
says stats "kernels          0 compiled"
says stats "of the prompt"
says stats "memory floor"
third=$(sed -n 3p all)
cp -r model ends
sed "s/200, 201/201, $third/" model/config.json >ends/config.json
"$bin/llama" ends $prompt --count 8 >got
expect "tokens before the end" "$(cat got)" "$(sed "/^$third\$/q" all)"

# Nothing is left to compile for the steps after a prefill.
for count in 1 8; do
    KILN_CACHE_DIR=cold-$count KILN_STATS=stats-$count "$bin/llama" model $prompt --count $count >/dev/null
done
[ "$(counter stats-1 compiles)" -gt 0 ] || fail "a cold folder compiled nothing"
expect "kernels of a prefill and 7 steps" "$(counter stats-8 compiles)" "$(counter stats-1 compiles)"
expect "kernels linked for 7 steps" "$(counter stats-8 links)" "$(counter stats-1 links)"
expect "traces of 7 steps" "$(counter stats-8 traces)" "$(counter stats-1 traces)"

# On the emulated GPU the same tokens come, drawn ones too, and nothing of it runs on the CPU.
on_gpu()
{
    stats=$1
    shift
    env LD_LIBRARY_PATH="$build/tests/emulated" KILN_OPT_LEVEL=0 KILN_CACHE_DIR=on-gpu KILN_STATS="$stats" \
        "$bin/llama" model $prompt --count 4 --device gpu "$@"
}
expect "tokens of a GPU" "$(on_gpu stats-gpu)" "$(head -4 all)"
on_gpu stats-drawn --temperature 2 --seed 1 >got
for stats in stats-gpu stats-drawn; do
    expect "$stats: operations on the CPU" "$(counter $stats gpu_host_operations)" 0
    [ "$(counter $stats gpu_launches)" -gt 0 ] || fail "$stats: nothing was launched"
done

# What is drawn follows the seed.
"$bin/llama" model $prompt --count 8 --temperature 2 --seed 1 >one
"$bin/llama" model $prompt --count 8 --temperature 2 --seed 1 >again
"$bin/llama" model $prompt --count 8 --temperature 2 --seed 2 >two
expect "the same seed" "$(cat again)" "$(cat one)"
[ "$(cat one)" != "$(cat two)" ] || fail "another seed draws the same tokens"
[ "$(cat one)" != "$(cat all)" ] || fail "a temperature draws the likeliest tokens only"

# refuses TEXT ARGUMENT...
refuses()
{
    text=$1
    shift
    exits 1 "$bin/llama" "$@"
    says err "llama: "
    says err "$text"
    [ ! -s out ] || fail "tokens were printed: $*"
}

# with CHANGE TEXT: the model with a config.json that sed has changed is refused
with()
{
    rm -rf changed
    cp -r model changed
    sed "$1" model/config.json >changed/config.json
    refuses "$2" changed 1
}

mkdir nothing
refuses "nothing/config.json cannot be read" nothing 1
refuses "none/config.json cannot be read" none 1
with 's/"num_hidden_layers"/"n_layer"/' "config.json has no num_hidden_layers; is this the folder of a Llama model?"
with 's/{/{{/' "is not JSON: error at byte 1"
with 's/}$//' "is not JSON: error at byte"
with 's/"llama"/"gpt2"/' 'model_type of config.json is "gpt2"; this program knows llama and mistral'
with 's/"num_key_value_heads": 2/"num_key_value_heads": 3/' "has 4 heads and 3 of keys"
with 's/"intermediate_size": 192/"intermediate_size": 191/' "mlp.gate_proj.weight must have shape (191, 128)"
with 's/"intermediate_size": 192/"intermediate_size": -1/' "intermediate_size of config.json must be a positive whole number"
with 's/"rope_scaling": null/"rope_scaling": {"rope_type": "yarn"}/' 'rope_type of config.json is "yarn"'
with 's/"num_hidden_layers": 3/"num_hidden_layers": 4/' "no file of the model has a tensor model.layers.3"
rm changed/model.safetensors
refuses "changed has neither model.safetensors nor model.safetensors.index.json" changed 1
cp model/config.json changed/config.json
head -c 1000 model/model.safetensors >changed/model.safetensors
refuses "changed/model.safetensors" changed 1
rm sharded/model-00002-of-00004.safetensors
refuses "sharded/model-00002-of-00004.safetensors is missing or can't be read" sharded 1
printf '{"weight_map": {"a": 1}}' >sharded/model.safetensors.index.json
refuses "weight_map of sharded names no file of this folder for a" sharded 1
refuses "token 96 is none of the model's, which end at 95" model 96
refuses "'x' is no token id" model x
refuses "5 tokens and 252 more are too many: the model has 256 positions" model $prompt --count 252
refuses "the prompt is empty" model </dev/null
refuses "--device is 'neither'; expected cpu or gpu" model 1 --device neither
exits 2 "$bin/llama" model 1 --quantize 5
exits 2 "$bin/llama"
says err "usage: llama FOLDER"
