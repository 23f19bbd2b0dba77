# bash completion of mmacalc; where no word fits, names of files are completed
_mmacalc() {
    local IFS=$'\n' typed=${COMP_WORDS[COMP_CWORD]} word
    COMPREPLY=()
    while read -r word; do
        [[ $typed == [\"\']* || $word != *[\ \(\)\;\&]* ]] || printf -v word %q "$word"
        COMPREPLY+=("$word")
    done < <(mmacalc completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o default -F _mmacalc mmacalc
