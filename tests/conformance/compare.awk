# Compares what the clients observed with checks.tsv, writes report.md and prints the totals.
# Input: checks.tsv, then <client>.<server>.tsv files of "check<TAB>observed".
BEGIN { FS = "\t" }

FNR == 1 {
    file = FILENAME
    sub(/.*\//, "", file)
    split(file, part, ".")
}

file == "checks.tsv" {
    if ($0 !~ /^#/ && NF >= 3) {
        order[++checks] = $1
        documented[$1] = $2
        meaning[$1] = $3
    }
    next
}

{
    if (!($1 in documented)) {
        print "not in checks.tsv: " $1 " (" part[1] ")"
        failed++
    }
    observed[part[1], part[2], $1] = $2
    ran[part[1], part[2]] = 1
}

# What all clients that ran observed on a server, in a few words.
function seen(server, check,    i, value, all, same) {
    same = 1
    for (i = 1; i <= 3; i++) {
        if (!((client[i], server) in ran)) continue
        value = observed[client[i], server, check]
        if (value == "") value = "nothing"
        if (all == "") { all = client[i] ": " value; first = value }
        else { all = all "; " client[i] ": " value; if (value != first) same = 0 }
    }
    return same ? first : all
}

END {
    split("java python go", client, " ")
    report = "report.md"
    print "| check | documented | embedded | pstest | follows the documentation |\n|---|---|---|---|---|" > report
    for (c = 1; c <= checks; c++) {
        check = order[c]
        for (i = 1; i <= 3; i++) {
            if (!((client[i], "embedded") in ran)) {
                skipped++
                continue
            }
            value = observed[client[i], "embedded", check]
            if (value == documented[check]) {
                passed++
            } else {
                failed++
                printf "FAILED %s (%s): %s: documented %s, observed %s\n", check, client[i], meaning[check],
                    documented[check], value == "" ? "nothing" : value
            }
        }
        ours = seen("embedded", check)
        theirs = seen("pstest", check)
        if (theirs == "") theirs = "not run"
        follows = ours == documented[check] ? (theirs == documented[check] ? "both" : "embedded") \
            : (theirs == documented[check] ? "pstest" : "neither")
        if (theirs != "not run" && ours != theirs) {
            differences++
            printf "differs: %s: %s: embedded %s, pstest %s; %s\n", check, meaning[check], ours, theirs, \
                follows == "neither" ? "neither follows the documentation" : follows " follows the documentation"
        }
        printf "| %s: %s | %s | %s | %s | %s |\n", check, meaning[check], documented[check], ours, theirs, follows > report
    }
    printf "%d checks, pstest differs in %d; target/conformance/report.md has all\n", checks, differences
    # This line is counted by .ci/total.
    printf "conformance: %d passed, %d failed, %d skipped\n", passed, failed, skipped
    printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
    exit failed > 0 || passed == 0
}
