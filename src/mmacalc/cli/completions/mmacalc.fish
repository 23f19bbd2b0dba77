# fish completion of mmacalc; where no word fits, names of files are completed
function __mmacalc_complete
    mmacalc completion described -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c mmacalc -f -a '(__mmacalc_complete)'
complete -c mmacalc -n 'test -z "$(__mmacalc_complete)"' -F
