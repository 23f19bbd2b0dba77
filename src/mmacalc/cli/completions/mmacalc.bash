# bash completion of mmacalc; where no word fits, names of files are completed
_mmacalc() {
    local IFS=$'\n'
    COMPREPLY=($(mmacalc completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mmacalc mmacalc
