# fish completion of mmacalc, beside names of files
complete -c mmacalc -a '(mmacalc completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
